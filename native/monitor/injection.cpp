// Entry point that the CUDA driver calls in a process started with CUDA_INJECTION64_PATH.
extern "C" __attribute__((visibility("default"))) int InitializeInjection() { return 1; }
