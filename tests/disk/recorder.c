/* Records what a program writes below one folder, in the order in which it happens, and plays troubles of a disk.
 *
 * A library for LD_PRELOAD. RECORDER_FOLDER names the folder (an absolute path without symbolic links), RECORDER_JOURNAL the file
 * that records are appended to, one write each; the test appends its marks to the same file (journal.py reads both).
 * RECORDER_TROUBLE may name a file with the troubles of the moment, a line each:
 *
 *     full NAME      nothing is written to files whose path in the folder begins so: ENOSPC
 *     fail NAME      their syncs fail: EIO
 *     slow MILLIS    each sync takes that much longer
 *     die 1          the process is killed at its next write, between two operations (another kill may come within one)
 *
 * System calls are made directly, so that nothing here calls itself. What is written by way of a mapping is not seen: SQLite
 * has only its -shm files mapped, which it makes anew after a crash. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define FILES_MAX 65536
#define PARTS_MAX 64

/* What stands before the names and the bytes of a record. */
struct header {
    uint32_t length; /* of the record, with this */
    uint8_t kind, failed;
    uint16_t names; /* bytes of the names */
    uint64_t file;  /* the inode */
    uint64_t offset;
};

static const char *folder, *trouble;
static size_t folder_length;
static int journal = -1;
/* One operation at a time, so that the journal has the order in which they happened. Syncs run beside. */
static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
/* The inode of each descriptor that is open on a recorded file or folder, or 0. */
static _Atomic uint64_t inodes[FILES_MAX];
static _Atomic uint64_t syncs = 1;

__attribute__((constructor)) static void begin(void)
{
    const char *path = getenv("RECORDER_JOURNAL");
    folder = getenv("RECORDER_FOLDER");
    trouble = getenv("RECORDER_TROUBLE");
    if (!path || !folder) {
        folder = NULL;
        return;
    }
    folder_length = strlen(folder);
    journal = (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (journal < 0)
        abort();
}

static void record(char kind, int failed, uint64_t file, uint64_t offset, const char *names, size_t names_length,
                   const struct iovec *parts, int count, size_t bytes)
{
    struct header header = {0, (uint8_t)kind, (uint8_t)failed, (uint16_t)names_length, file, offset};
    struct iovec all[PARTS_MAX + 2] = {{&header, sizeof header}, {(void *)names, names_length}};
    int used = 2;
    size_t left = bytes;
    for (int at = 0; at < count && left > 0; at++) {
        size_t taken = parts[at].iov_len < left ? parts[at].iov_len : left;
        all[used].iov_base = parts[at].iov_base;
        all[used++].iov_len = taken;
        left -= taken;
    }
    header.length = (uint32_t)(sizeof header + names_length + bytes);
    if (syscall(SYS_writev, journal, all, used) != (long)header.length)
        abort(); /* A journal with a hole would show losses that were none. */
}

/* The path below the folder; NULL for what is not recorded. The folder itself is "". */
static const char *inner(int at, const char *path, char *room)
{
    if (!folder || !path)
        return NULL;
    if (path[0] != '/') {
        char link[64];
        snprintf(link, sizeof link, at == AT_FDCWD ? "/proc/self/cwd" : "/proc/self/fd/%d", at);
        long length = syscall(SYS_readlinkat, AT_FDCWD, link, room, PATH_MAX - 1);
        if (length <= 0 || (size_t)length + strlen(path) + 2 > PATH_MAX)
            return NULL;
        room[length] = '/';
        strcpy(room + length + 1, path);
        path = room;
    }
    if (strncmp(path, folder, folder_length) != 0)
        return NULL;
    size_t length = strlen(path);
    if (length > 4 && strcmp(path + length - 4, "-shm") == 0)
        return NULL;
    path += folder_length;
    return path[0] == '/' ? path + 1 : path[0] == 0 ? path : NULL;
}

static uint64_t inode_of(int fd)
{
    struct stat found;
    return fstat(fd, &found) == 0 ? (uint64_t)found.st_ino : 0;
}

static uint64_t recorded(int fd)
{
    return fd >= 0 && fd < FILES_MAX ? atomic_load(&inodes[fd]) : 0;
}

/* The path below the folder of an open file. */
static const char *path_of(int fd, char *room)
{
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    long length = syscall(SYS_readlinkat, AT_FDCWD, link, room, PATH_MAX - 1);
    if (length <= 0)
        return "";
    room[length] = 0;
    return (size_t)length > folder_length ? room + folder_length + 1 : "";
}

/* The number behind a trouble that a path has now, 1 if it has none; 0: the path does not have it. */
static long has_trouble(const char *kind, const char *path)
{
    char text[512], *rest = NULL;
    int fd = trouble ? (int)syscall(SYS_openat, AT_FDCWD, trouble, O_RDONLY | O_CLOEXEC, 0) : -1;
    if (fd < 0)
        return 0;
    long length = syscall(SYS_read, fd, text, sizeof text - 1);
    syscall(SYS_close, fd);
    text[length > 0 ? length : 0] = 0;
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        size_t named = strlen(kind);
        if (strncmp(line, kind, named) != 0 || line[named] != ' ')
            continue;
        if (strcmp(kind, "slow") == 0 || strcmp(kind, "die") == 0)
            return atol(line + named + 1);
        if (strncmp(path, line + named + 1, strlen(line + named + 1)) == 0)
            return 1;
    }
    return 0;
}

static long fail_with(int error)
{
    errno = error;
    return -1;
}

static int open_recorded(int at, const char *path, int flags, mode_t mode)
{
    char room[PATH_MAX];
    const char *name = inner(at, path, room);
    if (!name)
        return (int)syscall(SYS_openat, at, path, flags, mode);
    pthread_mutex_lock(&one_at_a_time);
    struct stat found;
    int is_new = (flags & O_CREAT) && fstatat(at, path, &found, 0) != 0;
    int fd = (int)syscall(SYS_openat, at, path, flags, mode);
    int error = errno;
    if (fd >= 0 && fd < FILES_MAX) {
        uint64_t inode = inode_of(fd);
        atomic_store(&inodes[fd], inode);
        if (is_new)
            record('C', 0, inode, 0, name, strlen(name), NULL, 0, 0);
        else if (flags & O_TRUNC)
            record('T', 0, inode, 0, NULL, 0, NULL, 0, 0);
    }
    pthread_mutex_unlock(&one_at_a_time);
    errno = error;
    return fd;
}

/* The mode behind the flags of an open, where they have one. */
#define TAKE_MODE(flags, mode)                                  \
    mode_t mode = 0;                                            \
    if ((flags) & (O_CREAT | __O_TMPFILE)) {                    \
        va_list more;                                           \
        va_start(more, flags);                                  \
        mode = va_arg(more, mode_t);                            \
        va_end(more);                                           \
    }

int open(const char *path, int flags, ...)
{
    TAKE_MODE(flags, mode)
    return open_recorded(AT_FDCWD, path, flags, mode);
}

int openat(int at, const char *path, int flags, ...)
{
    TAKE_MODE(flags, mode)
    return open_recorded(at, path, flags, mode);
}

/* A name with 64 is the same function: only systems of 64 bits are supported. */
#define ALSO(name) __attribute__((alias(name)))
int open64(const char *path, int flags, ...) ALSO("open");
int openat64(int at, const char *path, int flags, ...) ALSO("openat");

int close(int fd)
{
    if (recorded(fd))
        atomic_store(&inodes[fd], 0);
    return (int)syscall(SYS_close, fd);
}

/* Writes and records; an offset of -1 is the position of the descriptor. */
static ssize_t write_recorded(int fd, const struct iovec *parts, int count, off_t offset)
{
    char room[PATH_MAX];
    uint64_t inode = recorded(fd);
    if (!inode || count > PARTS_MAX)
        return offset < 0 ? syscall(SYS_writev, fd, parts, count) : syscall(SYS_pwritev, fd, parts, count, offset, 0);
    pthread_mutex_lock(&one_at_a_time);
    if (has_trouble("die", ""))
        kill(getpid(), SIGKILL);
    ssize_t done;
    if (has_trouble("full", path_of(fd, room)))
        done = fail_with(ENOSPC);
    else
        done = offset < 0 ? syscall(SYS_writev, fd, parts, count) : syscall(SYS_pwritev, fd, parts, count, offset, 0);
    int error = errno;
    if (done > 0)
        record('W', 0, inode, (uint64_t)(offset < 0 ? lseek(fd, 0, SEEK_CUR) - done : offset), NULL, 0, parts, count, (size_t)done);
    pthread_mutex_unlock(&one_at_a_time);
    errno = error;
    return done;
}

ssize_t write(int fd, const void *bytes, size_t length)
{
    struct iovec part = {(void *)bytes, length};
    return recorded(fd) ? write_recorded(fd, &part, 1, -1) : syscall(SYS_write, fd, bytes, length);
}

ssize_t writev(int fd, const struct iovec *parts, int count)
{
    return write_recorded(fd, parts, count, -1);
}

ssize_t pwrite(int fd, const void *bytes, size_t length, off_t offset)
{
    struct iovec part = {(void *)bytes, length};
    return write_recorded(fd, &part, 1, offset);
}

ssize_t pwrite64(int fd, const void *bytes, size_t length, off_t offset) ALSO("pwrite");

ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t offset)
{
    return write_recorded(fd, parts, count, offset);
}

ssize_t pwritev64(int fd, const struct iovec *parts, int count, off_t offset) ALSO("pwritev");

int ftruncate(int fd, off_t size)
{
    uint64_t inode = recorded(fd);
    pthread_mutex_lock(&one_at_a_time);
    int failed = (int)syscall(SYS_ftruncate, fd, size);
    if (inode && !failed)
        record('T', 0, inode, (uint64_t)size, NULL, 0, NULL, 0, 0);
    pthread_mutex_unlock(&one_at_a_time);
    return failed;
}

int ftruncate64(int fd, off_t size) ALSO("ftruncate");

/* Syncs. The journal has the beginning and the answer: only what was written before the beginning is safe after the answer. */
static int sync_recorded(int fd, long call)
{
    char room[PATH_MAX];
    struct stat found;
    uint64_t inode = recorded(fd);
    if (!inode || fstat(fd, &found) != 0)
        return (int)syscall(call, fd);
    const char *path = path_of(fd, room), *name = S_ISDIR(found.st_mode) ? path : NULL;
    uint64_t number = atomic_fetch_add(&syncs, 1);
    size_t length = name ? strlen(name) : 0;
    record(name ? 'N' : 'S', 0, inode, number, name, length, NULL, 0, 0);
    long more = has_trouble("slow", path);
    struct timespec pause = {more / 1000, more % 1000 * 1000000};
    if (more > 0)
        nanosleep(&pause, NULL);
    int failed = has_trouble("fail", path) ? (int)fail_with(EIO) : (int)syscall(call, fd);
    int error = errno;
    record('A', failed != 0, inode, number, name, length, NULL, 0, 0);
    errno = error;
    return failed;
}

int fsync(int fd)
{
    return sync_recorded(fd, SYS_fsync);
}

int fdatasync(int fd)
{
    return sync_recorded(fd, SYS_fdatasync);
}

/* Records a change of names that succeeded; two names are parted by a zero. */
static void record_names(char kind, const char *first, const char *second)
{
    char both[2 * PATH_MAX];
    size_t length = strlen(first);
    memcpy(both, first, length + 1);
    if (second) {
        strcpy(both + length + 1, second);
        length += 1 + strlen(second);
    }
    record(kind, 0, 0, 0, both, length, NULL, 0, 0);
}

static int rename_recorded(int from_at, const char *from, int to_at, const char *to)
{
    char room[PATH_MAX], other[PATH_MAX];
    const char *old = inner(from_at, from, room), *new = inner(to_at, to, other);
    pthread_mutex_lock(&one_at_a_time);
    int failed = (int)syscall(SYS_renameat2, from_at, from, to_at, to, 0);
    if (!failed && (old || new))
        record_names('R', old ? old : "", new ? new : "");
    pthread_mutex_unlock(&one_at_a_time);
    return failed;
}

int rename(const char *from, const char *to)
{
    return rename_recorded(AT_FDCWD, from, AT_FDCWD, to);
}

int renameat(int from_at, const char *from, int to_at, const char *to)
{
    return rename_recorded(from_at, from, to_at, to);
}

int unlinkat(int at, const char *path, int flags)
{
    char room[PATH_MAX];
    const char *name = inner(at, path, room);
    pthread_mutex_lock(&one_at_a_time);
    int failed = (int)syscall(SYS_unlinkat, at, path, flags);
    if (!failed && name)
        record_names('U', name, NULL);
    pthread_mutex_unlock(&one_at_a_time);
    return failed;
}

int unlink(const char *path)
{
    return unlinkat(AT_FDCWD, path, 0);
}

int rmdir(const char *path)
{
    return unlinkat(AT_FDCWD, path, AT_REMOVEDIR);
}

int mkdirat(int at, const char *path, mode_t mode)
{
    char room[PATH_MAX];
    const char *name = inner(at, path, room);
    pthread_mutex_lock(&one_at_a_time);
    int failed = (int)syscall(SYS_mkdirat, at, path, mode);
    if (!failed && name && name[0])
        record_names('D', name, NULL);
    pthread_mutex_unlock(&one_at_a_time);
    return failed;
}

int mkdir(const char *path, mode_t mode)
{
    return mkdirat(AT_FDCWD, path, mode);
}
