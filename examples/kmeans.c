/*
 * K-means over the points of a CSV file, with the reduction of one chunk of points under way while
 * the next chunk is being assigned (nonblocking allreduce).
 *
 *     muster run -n 3 kmeans [-k CLUSTERS] [-i ITERATIONS] FILE
 *
 * Each line of FILE is a point: numbers separated by commas, as many on every line. Every rank
 * takes a part of the lines. The start is deterministic (points evenly spaced in the file), so a
 * job of any size finds the same clusters. Rank 0 prints the centroids, the points of each, and the
 * inertia: the sum of the squared distances to the nearest centroid.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <muster.h>

#define CHUNKS 4 /* reductions under way at a time, the same on every rank */
#define POINTS_PER_PROGRESS 512

typedef struct points {
    double *values; /* count rows of width numbers */
    size_t count;
    size_t width;
} points_t;

typedef struct problem {
    points_t points; /* all of them; the caller's are [first, last) */
    size_t first, last;
    size_t clusters;
    double *centroids; /* clusters rows of width numbers */
    double *sums;      /* CHUNKS blocks of sums_length numbers */
    double inertia;
    uint64_t *populations;
} problem_t;

static void *grown(void *memory, size_t size)
{
    memory = realloc(memory, size ? size : 1);
    if (!memory) {
        fprintf(stderr, "kmeans: out of memory\n");
        exit(1); /* the launcher tells the other ranks */
    }
    return memory;
}

/* Appends the numbers of a line; how many there are, 0 where it is no list of numbers. */
static size_t read_line(const char *line, double **values, size_t used, size_t *room)
{
    size_t width = 0;
    for (;;) {
        char *end;
        double number = strtod(line, &end);
        if (end == line || !isfinite(number))
            return 0;
        if (used + width >= *room)
            *values = grown(*values, (*room = 2 * *room + 64) * sizeof **values);
        (*values)[used + width++] = number;
        end += strspn(end, " \t\r\n");
        if (*end == '\0')
            return width;
        if (*end != ',')
            return 0;
        line = end + 1;
    }
}

/* 0, or -1 with a message. */
static int read_points(const char *path, points_t *points)
{
    FILE *file = fopen(path, "r");
    if (!file) {
        fprintf(stderr, "kmeans: %s: %s\n", path, strerror(errno));
        return -1;
    }
    char *line = NULL;
    size_t line_room = 0, room = 0, width = 0;
    while (getline(&line, &line_room, file) >= 0) {
        width = read_line(line, &points->values, points->count * points->width, &room);
        if (points->count == 0)
            points->width = width;
        if (width == 0 || width != points->width) {
            fprintf(stderr, "kmeans: %s:%zu: not a point like the first\n", path,
                    points->count + 1);
            width = 0;
            break;
        }
        points->count++;
    }
    free(line);
    fclose(file);
    if (points->count == 0 && width == 0)
        fprintf(stderr, "kmeans: %s: no points\n", path);
    return width == 0 ? -1 : 0;
}

/* Per cluster: the sums of its points and how many they are; then the inertia. */
static size_t sums_length(const problem_t *problem)
{
    return problem->clusters * (problem->points.width + 1) + 1;
}

/* The nearest centroid, the first of equals. */
static size_t nearest(const problem_t *problem, const double *point, double *distance)
{
    size_t width = problem->points.width, best = 0;
    *distance = INFINITY;
    for (size_t cluster = 0; cluster < problem->clusters; cluster++) {
        double sum = 0;
        for (size_t i = 0; i < width; i++) {
            double difference = point[i] - problem->centroids[cluster * width + i];
            sum += difference * difference;
        }
        if (sum < *distance) {
            *distance = sum;
            best = cluster;
        }
    }
    return best;
}

/* Assigns the caller's points of one chunk; now and then gives the reductions under way a push. */
static void assign(problem_t *problem, size_t chunk, double *sums, muster_context_t *context)
{
    size_t width = problem->points.width, mine = problem->last - problem->first;
    size_t end = problem->first + mine * (chunk + 1) / CHUNKS;
    memset(sums, 0, sums_length(problem) * sizeof *sums);
    for (size_t p = problem->first + mine * chunk / CHUNKS; p < end; p++) {
        const double *point = problem->points.values + p * width;
        double distance;
        double *row = sums + nearest(problem, point, &distance) * (width + 1);
        for (size_t i = 0; i < width; i++)
            row[i] += point[i];
        row[width] += 1;
        sums[sums_length(problem) - 1] += distance;
        if (p % POINTS_PER_PROGRESS == 0)
            muster_progress(context);
    }
}

/* Moves the centroids to the middle of their points; whether one of them moved. */
static int move_centroids(problem_t *problem)
{
    size_t width = problem->points.width, length = sums_length(problem);
    for (size_t chunk = 1; chunk < CHUNKS; chunk++)
        for (size_t i = 0; i < length; i++)
            problem->sums[i] += problem->sums[chunk * length + i];
    int moved = 0;
    for (size_t cluster = 0; cluster < problem->clusters; cluster++) {
        const double *row = problem->sums + cluster * (width + 1);
        problem->populations[cluster] = (uint64_t)row[width];
        for (size_t i = 0; i < width && row[width] > 0; i++) {
            double *centroid = &problem->centroids[cluster * width + i];
            moved |= fabs(row[i] / row[width] - *centroid) > 1e-9;
            *centroid = row[i] / row[width];
        }
    }
    problem->inertia = problem->sums[length - 1];
    return moved;
}

static muster_status_t iterate(problem_t *problem, muster_context_t *context, int *moved)
{
    muster_comm_t *world = muster_context_world(context);
    muster_request_t *requests[CHUNKS] = {NULL};
    muster_status_t status = MUSTER_OK;
    size_t length = sums_length(problem);
    for (size_t chunk = 0; chunk < CHUNKS && status == MUSTER_OK; chunk++) {
        double *sums = problem->sums + chunk * length;
        assign(problem, chunk, sums, context);
        status = muster_iallreduce(world, MUSTER_IN_PLACE, sums, length, MUSTER_F64, MUSTER_SUM,
                                   NULL, &requests[chunk]);
    }
    if (status == MUSTER_OK)
        status = muster_wait_all(requests, CHUNKS, MUSTER_NO_DEADLINE);
    for (size_t chunk = 0; chunk < CHUNKS; chunk++) {
        const muster_failure_t *failure =
            requests[chunk] ? muster_request_failure(requests[chunk]) : NULL;
        if (failure)
            fprintf(stderr, "kmeans: %s\n", failure->message);
        muster_request_destroy(requests[chunk]);
    }
    if (status == MUSTER_OK)
        *moved = move_centroids(problem);
    return status;
}

static void print_clusters(const problem_t *problem, unsigned long iterations)
{
    for (size_t cluster = 0; cluster < problem->clusters; cluster++) {
        printf("centroid %zu:", cluster);
        for (size_t i = 0; i < problem->points.width; i++)
            printf(" %.6f", problem->centroids[cluster * problem->points.width + i]);
        printf(" (%" PRIu64 " points)\n", problem->populations[cluster]);
    }
    printf("inertia %.6f after %lu iterations\n", problem->inertia, iterations);
}

static muster_status_t cluster(problem_t *problem, unsigned long iterations_max,
                               muster_context_t *context)
{
    const points_t *points = &problem->points;
    uint32_t rank = muster_context_rank(context), size = muster_context_size(context);
    problem->first = points->count * rank / size;
    problem->last = points->count * (rank + 1) / size;
    problem->centroids = grown(NULL, problem->clusters * points->width * sizeof(double));
    problem->sums = grown(NULL, CHUNKS * sums_length(problem) * sizeof(double));
    problem->populations = grown(NULL, problem->clusters * sizeof(uint64_t));
    for (size_t i = 0; i < problem->clusters; i++)
        memcpy(problem->centroids + i * points->width,
               points->values + i * points->count / problem->clusters * points->width,
               points->width * sizeof(double));
    muster_status_t status = MUSTER_OK;
    unsigned long iterations = 0;
    for (int moved = 1; moved && iterations < iterations_max && status == MUSTER_OK; iterations++)
        status = iterate(problem, context, &moved);
    if (status == MUSTER_OK && rank == 0)
        print_clusters(problem, iterations);
    free(problem->centroids);
    free(problem->sums);
    free(problem->populations);
    return status;
}

/* 0, or -1 with a message. */
static int parse(int argc, char **argv, size_t *clusters, unsigned long *iterations,
                 const char **path)
{
    int at = 1;
    for (; at + 2 < argc && argv[at][0] == '-'; at += 2) {
        char *end;
        unsigned long number = strtoul(argv[at + 1], &end, 10);
        if (*end != '\0' || number == 0 || number > 1000000 || argv[at + 1][0] == '-')
            break;
        if (strcmp(argv[at], "-k") == 0)
            *clusters = number;
        else if (strcmp(argv[at], "-i") == 0)
            *iterations = number;
        else
            break;
    }
    if (at + 1 != argc) {
        fprintf(stderr, "usage: kmeans [-k CLUSTERS] [-i ITERATIONS] FILE\n");
        return -1;
    }
    *path = argv[at];
    return 0;
}

int main(int argc, char **argv)
{
    problem_t problem = {.clusters = 4};
    unsigned long iterations = 100;
    const char *path;
    if (parse(argc, argv, &problem.clusters, &iterations, &path) != 0)
        return 2;
    if (read_points(path, &problem.points) != 0) {
        free(problem.points.values);
        return 1;
    }
    if (problem.clusters > problem.points.count)
        problem.clusters = problem.points.count;
    muster_context_t *context;
    muster_failure_t failure;
    muster_context_options_t options = {.failure = &failure};
    muster_status_t status = muster_context_create(&options, &context);
    if (status == MUSTER_OK) {
        status = cluster(&problem, iterations, context);
        muster_context_destroy(context);
    } else {
        fprintf(stderr, "kmeans: %s: %s\n", muster_status_name(status), failure.message);
    }
    free(problem.points.values);
    return status == MUSTER_OK ? 0 : 1;
}
