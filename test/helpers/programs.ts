import { spawnSync } from 'node:child_process'

/** True if a program is installed. Always true with `CI=true`, so that tests fail instead of being skipped. */
export const hasProgram = (name: string): boolean =>
  process.env.CI === 'true' || spawnSync(name, ['--version']).error === undefined
