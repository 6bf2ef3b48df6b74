import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'

/** Returns the path of PgBouncer, if installed. Debian puts it into a folder that is not in every PATH. */
export const findPgBouncer = (): string | undefined =>
  [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin']
    .map((folder) => join(folder, 'pgbouncer'))
    .find((path) => existsSync(path))
