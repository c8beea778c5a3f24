/* Rank 0 of the environment is the hub of its job. */
#include "boot/boot_state.h"

void boot_hub_pump(boot_t *boot, int timeout_ms) { (void)boot; (void)timeout_ms; }
void boot_hub_address(boot_t *boot, const uint8_t *blob, uint32_t length) { (void)boot; (void)blob; (void)length; }
void boot_hub_expire(boot_t *boot) { (void)boot; }
void boot_hub_leave(boot_t *boot) { (void)boot; }
void boot_hub_close(boot_t *boot, bool flush) { (void)boot; (void)flush; }
