/* Stands before the C library's file calls and makes those below given folders misbehave on command.

   CHAOS_DIR holds one file per kind of call (sync, write, read), whose content says what becomes of it now: "pause"
   (wait until the file says otherwise), "slow MILLISECONDS" or "fail ERRNO"; without a file all is well.
   CHAOS_DATA and CHAOS_KB name the folders; calls on anything else are left alone. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The control file is read by bare system calls, so that the shim does not meet itself. */
static int told(const char *kind, char *into, size_t size)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", getenv("CHAOS_DIR"), kind);
    long file = syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
    if (file < 0)
        return 0;
    long length = syscall(SYS_read, file, into, size - 1);
    syscall(SYS_close, file);
    into[length > 0 ? length : 0] = 0;
    return length > 0;
}

static int below(const char *path, const char *variable)
{
    const char *folder = getenv(variable);
    return folder && path && strncmp(path, folder, strlen(folder)) == 0;
}

static int descriptor_below(int descriptor, const char *variable)
{
    char link[64], path[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0)
        return 0;
    path[length] = 0;
    return below(path, variable);
}

/* Do what is commanded for this kind of call; the errno to fail with, or 0 to go on. */
static int misbehave(const char *kind)
{
    char mode[64];
    if (!told(kind, mode, sizeof mode))
        return 0;
    if (strncmp(mode, "slow ", 5) == 0)
        usleep(atoi(mode + 5) * 1000);
    if (strncmp(mode, "fail ", 5) == 0)
        return atoi(mode + 5);
    while (told(kind, mode, sizeof mode) && strncmp(mode, "pause", 5) == 0)
        usleep(20000);
    return 0;
}

#define REAL(name) static __typeof__(&name) real; if (!real) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)
#define STAND_BEFORE(kind, holds) if (holds) { int wrong = misbehave(kind); if (wrong) { errno = wrong; return -1; } }

int fsync(int fd) { REAL(fsync); STAND_BEFORE("sync", descriptor_below(fd, "CHAOS_DATA")) return real(fd); }
int fdatasync(int fd) { REAL(fdatasync); STAND_BEFORE("sync", descriptor_below(fd, "CHAOS_DATA")) return real(fd); }

ssize_t pwrite64(int fd, const void *data, size_t size, off64_t at)
{
    REAL(pwrite64);
    STAND_BEFORE("write", descriptor_below(fd, "CHAOS_DATA"))
    return real(fd, data, size, at);
}

ssize_t pwrite(int fd, const void *data, size_t size, off_t at)
{
    REAL(pwrite);
    STAND_BEFORE("write", descriptor_below(fd, "CHAOS_DATA"))
    return real(fd, data, size, at);
}

#define OPEN(name) \
    int name(const char *path, int flags, ...) \
    { \
        va_list rest; \
        va_start(rest, flags); \
        mode_t mode = (flags & (O_CREAT | O_TMPFILE)) ? va_arg(rest, mode_t) : 0; \
        va_end(rest); \
        REAL(name); \
        STAND_BEFORE("read", below(path, "CHAOS_KB")) \
        return real(path, flags, mode); \
    }

OPEN(open)
OPEN(open64)
