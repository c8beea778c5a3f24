/*
 * The settings that this process finds: built in, from files, from the environment; and those that
 * all ranks of the job go by.
 *
 * Files, later ones over earlier ones: tuned.conf, for measured parameters, and muster.conf, in
 * $XDG_CONFIG_HOME/muster or else ~/.config/muster, where they exist; the file that
 * MUSTER_CONFIG names, which has to. Then the environment: MUSTER_ and a setting's name in capital
 * letters.
 */
#ifndef MUSTER_BOOT_BOOT_SETTINGS_H
#define MUSTER_BOOT_BOOT_SETTINGS_H

#include "boot/boot.h"
#include "core/settings.h"

#define BOOT_SETTINGS_TUNED "tuned.conf"
#define BOOT_SETTINGS_FILE "muster.conf"

/*
 * Reads all of them over the built-in ones. INVALID_ARGUMENT: a text is wrong, a variable looks
 * like a setting and is none; the failure names file and line, or the variable, and the column.
 * ENVIRONMENT: a file that is there cannot be read. failure may be NULL.
 */
muster_status_t boot_settings_read(settings_t *settings, muster_failure_t *failure);

/* Where a file of that name is looked for, or false where no directory is known. */
bool boot_settings_path(const char *file, char *path, size_t size);

/* What ranks compare: equal where all settings are. */
#define BOOT_SETTINGS_MARK_SIZE 20
void boot_settings_mark(const settings_t *settings, uint8_t mark[BOOT_SETTINGS_MARK_SIZE]);

/*
 * Makes rank 0's settings those of this rank, where marks, one a rank and `stride` bytes apart, are
 * not all alike: then every rank has to call it. Blocks. NO_MEMORY, and what boot_exchange returns.
 */
muster_status_t boot_settings_agree(boot_t *boot, settings_t *settings, const uint8_t *marks,
                                    size_t stride, int64_t deadline, muster_failure_t *failure);

#endif
