import { createRequire, isBuiltin } from 'node:module'

const hasNodeSqlite = isBuiltin('node:sqlite')

/** A driver that was compiled for another Node fails only when it opens a database. */
function canOpen(driver: string): boolean {
  try {
    ;new (createRequire(import.meta.url)(driver))(':memory:').close()
    return true
  } catch {
    return false
  }
}

const why = canOpen('better-sqlite3')
  ? undefined
  : `no better-sqlite3 for Node ${process.version}. Compile it: npm run drivers`

/** Why tests cannot use SQLite; `undefined` if they can. */
export const whyNoSqlite: string | undefined = why && !hasNodeSqlite ? `${why}, or use Node 22.13` : undefined

/** Why tests cannot use `better-sqlite3`, on a Node whose users do not need it. */
export const whyNoBetterSqlite: string | undefined = hasNodeSqlite ? why : undefined

/**
 * Tests that need a driver carry its tag: `// @module-tag sqlite` in a file, `{ tags: ['sqlite'] }` at a test. They are
 * skipped without it. With `CI=true` they run, and fail, if users of this Node need the driver.
 */
export const TAGS: { name: string; skip: boolean }[] = [
  { name: 'sqlite', skip: isSkipped(whyNoSqlite) },
  { name: 'better-sqlite3', skip: isSkipped(whyNoSqlite) || whyNoBetterSqlite !== undefined },
]

function isSkipped(reason: string | undefined): boolean {
  return reason !== undefined && process.env.CI !== 'true'
}
