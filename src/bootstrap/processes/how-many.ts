import type { Config } from "../settings/config.ts"

/**
 * How many processes `--processes auto` runs: one for each core. Half of the cores are PostgreSQL's where that is
 * the program's own: it works as much for a text as the program does (docs/scale.md), and a process that takes its
 * core from it makes both slower.
 *
 * @param cores how many this machine has
 */
export function howMany(cores: number, { databaseUrl }: Pick<Config, "databaseUrl">): number {
  return databaseUrl === null ? Math.max(1, Math.floor(cores / 2)) : cores
}
