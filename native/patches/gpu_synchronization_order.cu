// The callbacks of gpu_synchronization.cu, where what barriers order is followed.
#define CUVEIN_ORDER
#include "patches/gpu_synchronization.cu"
