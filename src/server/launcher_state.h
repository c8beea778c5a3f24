/* What the files of the launcher share. One thread; callbacks run in the launcher's loop. */
#ifndef MUSTER_SERVER_LAUNCHER_STATE_H
#define MUSTER_SERVER_LAUNCHER_STATE_H

#include <sys/resource.h>
#include <sys/types.h>
#include <uv.h>

#include "core/control.h"
#include "core/hub.h"
#include "server/launcher.h"

typedef struct launcher launcher_t;
typedef struct launcher_rank launcher_rank_t;
typedef struct launcher_connection launcher_connection_t;

/*
 * ---- Output -----------------------------------------------------------------------------------
 */

typedef enum launcher_output_way {
    LAUNCHER_OUTPUT_BLOCKING, /* a file: writing does not wait for anybody */
    /* a pipe or terminal, opened again so that only this process is concerned */
    LAUNCHER_OUTPUT_NONBLOCKING,
    LAUNCHER_OUTPUT_SOCKET,
    /* could not be opened again: only as much as goes without waiting */
    LAUNCHER_OUTPUT_CAREFUL
} launcher_output_way_t;

/* Standard output or error of the launcher. */
typedef struct launcher_output {
    launcher_t *launcher;
    int fd;
    launcher_output_way_t way;
    uv_poll_t poll;
    bool pollable;
    bool polling;
    bool broken;  /* nobody reads it any more */
    bool in_line; /* the last thing written did not end its line */
    char *queue;  /* not yet written */
    size_t queue_size;
    size_t queue_start;
    size_t queue_length;
} launcher_output_t;

/* Standard output or error of a rank. */
typedef struct launcher_stream {
    launcher_rank_t *rank;
    launcher_output_t *output;
    int fd; /* -1: closed */
    uv_poll_t poll;
    bool paused; /* until the output has room again */
    char *line;  /* the line that has not ended yet */
    size_t line_size;
    size_t line_length;
} launcher_stream_t;

bool launcher_output_open(launcher_t *launcher, launcher_output_t *output, int fd);
/* Takes over fd, the reading end of a rank's pipe. */
bool launcher_stream_open(launcher_stream_t *stream, launcher_rank_t *rank,
                          launcher_output_t *output, int fd);
/* Says what is left of its last line and closes it; nothing where it is closed. */
void launcher_stream_close(launcher_stream_t *stream);
/* Writes without waiting; true when nothing is left. */
bool launcher_output_flush(launcher_output_t *output);
void launcher_output_close(launcher_output_t *output);
/* One line of the launcher's own, on standard error. */
void launcher_say(launcher_t *launcher, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/*
 * ---- Ranks ------------------------------------------------------------------------------------
 */

struct launcher_rank {
    launcher_t *launcher;
    uint32_t rank;
    pid_t pid; /* 0: not started */
    bool ended;
    int status;                /* as from waitpid */
    char how[CONTROL_HOW_MAX]; /* ended: "killed by signal 9" */
    int door;                  /* the launcher's end of the rank's door, -1: none */
    uv_poll_t door_poll;
    bool door_polling;
    uint64_t joins; /* how often it has joined */
    launcher_connection_t *connections;
    uint32_t connection_count;
    launcher_stream_t streams[2];
};

/*
 * Forks rank; what goes wrong afterwards comes through launcher->start_pipe. false: errno says why.
 */
bool launcher_child_start(launcher_rank_t *rank);
/* A report of a child that could not become the program, as it goes through the pipe. */
typedef struct launcher_start_failure {
    uint32_t rank;
    int32_t reason; /* errno */
} launcher_start_failure_t;
/* Sends signal to the rank's process group. */
void launcher_child_signal(const launcher_rank_t *rank, int signal);

/*
 * ---- Control ----------------------------------------------------------------------------------
 */

/* The ranks' first joins form the first meeting, their second joins the second, and so on. */
#define LAUNCHER_MEETINGS_MAX 8

typedef struct launcher_meeting {
    launcher_t *launcher;
    uint64_t number;
    bool open;
    void *memory;
    hub_t hub;
    uint8_t job[CONTROL_JOB_SIZE];
    uint8_t secret[CONTROL_SECRET_SIZE];
    launcher_connection_t **connections; /* by rank; NULL: none */
} launcher_meeting_t;

bool launcher_door_open(launcher_rank_t *rank, int door);
/* The rank's process has ended: everybody who is concerned is told how. */
void launcher_control_ended(launcher_rank_t *rank);
void launcher_control_close(launcher_t *launcher);

/*
 * ---- The guard --------------------------------------------------------------------------------
 */

typedef struct launcher_guard {
    pid_t pid;     /* 0: none */
    int pipe;      /* its closing, without a word, is the launcher's death */
    pid_t *groups; /* shared with the guard: the ranks' process groups, 0 where there is none */
    uint32_t size;
} launcher_guard_t;

/* job: the text in MUSTER_JOBS that marks the job's processes; borrowed. */
bool launcher_guard_start(launcher_guard_t *guard, uint32_t size, const char *job);
void launcher_guard_stop(launcher_guard_t *guard);
/*
 * Kills what is left of the job after its ranks have ended: as a subreaper the launcher is the
 * parent of every orphan. Returns true when nothing is left.
 */
bool launcher_sweep(launcher_t *launcher);

/*
 * ---- Input ------------------------------------------------------------------------------------
 */

/* A terminal's lines on their way to rank 0. */
typedef struct launcher_input {
    bool relaying;
    int fd; /* writing end of rank 0's pipe */
    uv_poll_t terminal;
    uv_poll_t pipe;
    bool pipe_polling;
    char bytes[4096];
    size_t start;
    size_t length;
} launcher_input_t;

/* The descriptor that rank shall have as standard input; -1: errno says why. */
int launcher_input_open(launcher_t *launcher, uint32_t rank);
/* Goes on after the launcher was stopped or sent to the background. */
void launcher_input_resume(launcher_t *launcher);
void launcher_input_close(launcher_t *launcher);

/*
 * ---- All together -----------------------------------------------------------------------------
 */

struct launcher {
    const launcher_options_t *options;
    uv_loop_t loop;
    uint32_t size;
    launcher_rank_t *ranks;
    uint32_t started;
    uint32_t running;
    uint32_t failed;
    int exit_code;
    bool code_decided;
    bool ending;      /* asked to end: no more reports of ranks that do */
    bool output_lost; /* something could not be written, though somebody wants it */
    bool over;        /* all ranks have ended */
    char job_text[2 * CONTROL_JOB_SIZE + 1];
    char **environment;        /* all but what differs by rank */
    struct rlimit descriptors; /* as they were: the ranks' limit */
    sigset_t signals_ignored;  /* when the launcher began */
    int start_pipe[2];
    uv_poll_t start_poll;
    uv_signal_t signals[7];
    uint32_t signal_count;
    uv_timer_t timeout_timer;
    uv_timer_t grace_timer;
    uv_timer_t kill_timer;
    uv_timer_t finish_timer;
    launcher_output_t outputs[2];
    launcher_input_t input;
    launcher_meeting_t meetings[LAUNCHER_MEETINGS_MAX];
    launcher_guard_t guard;
};

/* Something ended: see whether everything has. */
void launcher_check_finished(launcher_t *launcher);

#endif
