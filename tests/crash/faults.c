/* Lets calls that change files below one folder fail, or the process die in the middle of one.

   Loaded before libc (LD_PRELOAD), so that Python, SQLite and polars all meet the fault where a real disk has it. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

enum { OPENS = 1, WRITES = 2, SYNCS = 4, RENAMES = 8, REMOVES = 16, MAKES_FOLDERS = 32 };

static char folder[PATH_MAX];
static atomic_long calls, failed, first, last;
static atomic_int kinds, error_number; /* error 0: the process is killed */

void faults_arm(const char *path, long from, long to, int which, int error) {
    strncpy(folder, path, sizeof folder - 1);
    calls = 0;
    failed = 0;
    first = from;
    last = to;
    error_number = error;
    kinds = which;
}
void faults_disarm(void) { kinds = 0; }
long faults_calls(void) { return calls; }
long faults_failed(void) { return failed; }

static int is_below(const char *path) {
    size_t length = strlen(folder);
    return length && !strncmp(path, folder, length) && (path[length] == '/' || !path[length]);
}

static int is_file_below(int fd) {
    char link[32], path[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return is_below(path);
}

static int is_due(int kind) {
    long n;
    if (!(kinds & kind)) return 0;
    n = ++calls;
    if (n < first || n > last) return 0;
    failed++;
    return 1;
}

static void die(void) {
    kill(getpid(), SIGKILL);
    for (;;) pause();
}

static int fails(int kind) {
    if (!is_due(kind)) return 0;
    if (!error_number) die();
    errno = error_number;
    return 1;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

#define OPEN(name)                                                        \
    int name(const char *path, int flags, ...) {                          \
        va_list more;                                                     \
        va_start(more, flags);                                            \
        mode_t mode = va_arg(more, mode_t);                               \
        va_end(more);                                                     \
        if ((flags & (O_CREAT | O_WRONLY | O_RDWR)) && kinds && is_below(path) && fails(OPENS)) return -1; \
        return REAL(name)(path, flags, mode);                             \
    }
OPEN(open)
OPEN(open64)

#define OPENAT(name)                                                      \
    int name(int at, const char *path, int flags, ...) {                  \
        va_list more;                                                     \
        va_start(more, flags);                                            \
        mode_t mode = va_arg(more, mode_t);                               \
        va_end(more);                                                     \
        if ((flags & (O_CREAT | O_WRONLY | O_RDWR)) && kinds && is_below(path) && fails(OPENS)) return -1; \
        return REAL(name)(at, path, flags, mode);                         \
    }
OPENAT(openat)
OPENAT(openat64)

/* A process that dies in a write has written half of it. */
#define WRITE(name, call_half, call_whole, ...)                           \
    ssize_t name(int fd, const void *bytes, size_t size, ##__VA_ARGS__) { \
        if (kinds && is_file_below(fd) && is_due(WRITES)) {               \
            if (!error_number && call_half >= -1) die();                  \
            errno = error_number;                                         \
            return -1;                                                    \
        }                                                                 \
        return call_whole;                                                \
    }
WRITE(write, REAL(write)(fd, bytes, size / 2), REAL(write)(fd, bytes, size))
WRITE(pwrite, REAL(pwrite)(fd, bytes, size / 2, at), REAL(pwrite)(fd, bytes, size, at), off_t at)
WRITE(pwrite64, REAL(pwrite64)(fd, bytes, size / 2, at), REAL(pwrite64)(fd, bytes, size, at), off64_t at)

#define ON_FILE(type, name, kind, parameters, arguments)                  \
    type name parameters {                                                \
        if (kinds && is_file_below(fd) && fails(kind)) return -1;         \
        return REAL(name) arguments;                                      \
    }
ON_FILE(ssize_t, writev, WRITES, (int fd, const struct iovec *parts, int count), (fd, parts, count))
ON_FILE(ssize_t, pwritev, WRITES, (int fd, const struct iovec *parts, int count, off_t at), (fd, parts, count, at))
ON_FILE(int, ftruncate, WRITES, (int fd, off_t size), (fd, size))
ON_FILE(int, ftruncate64, WRITES, (int fd, off64_t size), (fd, size))
ON_FILE(int, fsync, SYNCS, (int fd), (fd))
ON_FILE(int, fdatasync, SYNCS, (int fd), (fd))

extern ssize_t sendfile(int fd, int source, off_t *at, size_t size);
extern ssize_t sendfile64(int fd, int source, off64_t *at, size_t size);
ON_FILE(ssize_t, sendfile, WRITES, (int fd, int source, off_t *at, size_t size), (fd, source, at, size))
ON_FILE(ssize_t, sendfile64, WRITES, (int fd, int source, off64_t *at, size_t size), (fd, source, at, size))

#define ON_PATH(name, kind, below, parameters, arguments)                 \
    int name parameters {                                                 \
        if (kinds && is_below(below) && fails(kind)) return -1;           \
        return REAL(name) arguments;                                      \
    }
ON_PATH(rename, RENAMES, to, (const char *from, const char *to), (from, to))
ON_PATH(link, RENAMES, to, (const char *from, const char *to), (from, to))
ON_PATH(renameat, RENAMES, to, (int in, const char *from, int out, const char *to), (in, from, out, to))
ON_PATH(linkat, RENAMES, to, (int in, const char *from, int out, const char *to, int how), (in, from, out, to, how))
ON_PATH(unlink, REMOVES, path, (const char *path), (path))
ON_PATH(unlinkat, REMOVES, path, (int in, const char *path, int how), (in, path, how))
ON_PATH(mkdir, MAKES_FOLDERS, path, (const char *path, mode_t mode), (path, mode))
