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

const hasBetterSqlite = canOpen('better-sqlite3')
const mustHaveAll = process.env.CI === 'true'

/** Why tests cannot use SQLite; `undefined` if they can. */
export const whyNoSqlite: string | undefined =
  hasNodeSqlite || hasBetterSqlite
    ? undefined
    : `no node:sqlite and no better-sqlite3 for Node ${process.version}. Compile it: npm run drivers. Or use Node 22.13 or later.`

/**
 * Tests that need a driver carry its tag: `// @module-tag sqlite` in a file, `{ tags: ['sqlite'] }` at a test. They are
 * skipped if the driver is missing, except with `CI=true`: then they run, and fail.
 */
export const TAGS = [
  {
    name: 'sqlite',
    description: 'needs node:sqlite or better-sqlite3',
    skip: !mustHaveAll && whyNoSqlite !== undefined,
  },
  {
    name: 'better-sqlite3',
    description: 'needs better-sqlite3 itself, which users of a Node with node:sqlite do not',
    skip: !hasBetterSqlite && (hasNodeSqlite || !mustHaveAll),
  },
]
