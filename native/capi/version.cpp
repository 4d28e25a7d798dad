#include "capi/cuvein.h"

const char* cuvein_version(void) { return CUVEIN_VERSION; }
