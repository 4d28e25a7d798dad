/* The C ABI of libcuvein.so: traces and the host engine, for Python's ctypes and anyone else.
 *
 * JSON documents are the types of src/cuvein/profile/model.py (Process, Launch, LaunchProfile), UTF-8.
 * Functions that can fail return 0 on success and a CUVEIN_* status otherwise; cuvein_error() then says in
 * one sentence what is wrong and what to do. Strings that are returned live until the next call on the same
 * object, or (where there is none) of the same function in the same thread. Objects are used by one thread at
 * a time. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define CUVEIN_API __attribute__((visibility("default")))
#else
#define CUVEIN_API
#endif

enum cuvein_status {
  CUVEIN_OK = 0,
  CUVEIN_DAMAGED = 1, /* a trace that ends early or has a bad chunk: everything before it was used */
  CUVEIN_FOREIGN = 2, /* not a cuvein trace */
  CUVEIN_NEWER = 3,   /* written by a later version of the format */
  CUVEIN_IO = 4,      /* the system refused: cuvein_error names the file and the reason */
  CUVEIN_INVALID = 5, /* bad argument, JSON or record */
  CUVEIN_STOPPED = 6, /* a callback asked to stop */
};

CUVEIN_API const char* cuvein_version(void);
CUVEIN_API const char* cuvein_error(void);

/* 0 when the regular expression is one that kernel selection accepts, CUVEIN_INVALID otherwise. */
CUVEIN_API int cuvein_check_regex(const char* expression);

/* Called with each finished profile; a non-zero return stops the replay. */
typedef int (*cuvein_profile_callback)(void* user, const char* json, size_t length);
/* Called now and then with bytes of the trace consumed and its size; a non-zero return stops the replay. */
typedef int (*cuvein_progress_callback)(void* user, uint64_t done, uint64_t total);

/* Replays a trace through the host engine with `workers` threads (0: one for each processor). On
 * CUVEIN_DAMAGED the launches cut off by the damage were delivered too, marked incomplete. */
CUVEIN_API int cuvein_replay(const char* path, unsigned workers, cuvein_profile_callback profile,
                             cuvein_progress_callback progress, void* user);

/* The host engine, fed by hand. `records` are whole records of native/model/record.h. */
typedef struct cuvein_engine cuvein_engine;
CUVEIN_API cuvein_engine* cuvein_engine_new(unsigned workers, const char* process_json);
CUVEIN_API void cuvein_engine_delete(cuvein_engine*);
CUVEIN_API int cuvein_engine_begin(cuvein_engine*, const char* launch_json);
CUVEIN_API int cuvein_engine_consume(cuvein_engine*, const void* records, size_t bytes);
/* Finishes a launch; *json is the LaunchProfile. `incomplete`: NULL, or why the profile is not whole. */
CUVEIN_API int cuvein_engine_end(cuvein_engine*, uint32_t launch, const char* incomplete, const char** json);

/* What the engine has spent its time on so far, in seconds: *json is {"caller": {...}, "workers": [{...},
 * ...]} with the names of native/analyzer/engine.h. */
CUVEIN_API int cuvein_engine_times(cuvein_engine*, const char** json);

/* The LaunchProfile of what the GPU engine has counted, as the monitor keeps it until there is time to write
 * the profile (native/profile/counted.h). */
CUVEIN_API int cuvein_counted_profile(const void* data, size_t bytes, const char** json);

/* Writing a trace. Modules are kept by the SHA-256 of their bytes. */
typedef struct cuvein_trace_writer cuvein_trace_writer;
CUVEIN_API int cuvein_trace_create(const char* path, const char* process_json, cuvein_trace_writer** writer);
CUVEIN_API int cuvein_trace_module(cuvein_trace_writer*, const void* cubin, size_t bytes);
CUVEIN_API int cuvein_trace_begin(cuvein_trace_writer*, const char* launch_json);
CUVEIN_API int cuvein_trace_records(cuvein_trace_writer*, const void* records, size_t bytes);
CUVEIN_API int cuvein_trace_end(cuvein_trace_writer*, uint32_t launch, const char* incomplete);
CUVEIN_API int cuvein_trace_flush(cuvein_trace_writer*); /* what was written so far can be read by others */
CUVEIN_API int cuvein_trace_close(
    cuvein_trace_writer*); /* also frees; the status says if everything reached the disk */

/* Reading a trace chunk by chunk. */
typedef struct cuvein_trace_reader cuvein_trace_reader;
enum cuvein_chunk_kind {
  CUVEIN_CHUNK_PROCESS = 1,      /* Process JSON */
  CUVEIN_CHUNK_MODULE = 2,       /* cubin */
  CUVEIN_CHUNK_LAUNCH_BEGIN = 3, /* Launch JSON */
  CUVEIN_CHUNK_RECORDS = 4,      /* records, decoded */
  CUVEIN_CHUNK_LAUNCH_END = 5,   /* {"sequence": n, "incomplete": null or text} */
  CUVEIN_CHUNK_END = 6,          /* the trace is whole */
};
typedef struct cuvein_chunk {
  int kind;
  const void* data; /* decoded content, valid until the next call */
  size_t bytes;
  uint64_t offset;       /* where the chunk begins in the file */
  uint64_t stored_bytes; /* what it takes there, header included */
} cuvein_chunk;
CUVEIN_API int cuvein_trace_open(const char* path, cuvein_trace_reader** reader);
/* Fills *chunk; CUVEIN_DAMAGED at the place where the trace breaks off. After CUVEIN_CHUNK_END there is no
 * more. */
CUVEIN_API int cuvein_trace_next(cuvein_trace_reader*, cuvein_chunk* chunk);
CUVEIN_API void cuvein_trace_release(cuvein_trace_reader*);

#ifdef __cplusplus
}
#endif
