import { createRequire, isBuiltin } from 'node:module'

const hasNodeSqlite = isBuiltin('node:sqlite')

/** Opens a database, because a driver compiled for another Node version fails only then. */
function canOpen(driver: string): boolean {
  try {
    ;new (createRequire(import.meta.url)(driver))(':memory:').close()
    return true
  } catch {
    return false
  }
}

const whyNoDriver = canOpen('better-sqlite3')
  ? undefined
  : `no better-sqlite3 for Node ${process.version}. Compile it: npm run drivers`

/** Why tests cannot use SQLite; `undefined` if they can. */
export const whyNoSqlite: string | undefined =
  whyNoDriver && !hasNodeSqlite ? `${whyNoDriver}, or use Node 22.13` : undefined

/** Why tests cannot use `better-sqlite3`, on a Node whose users do not need it. */
export const whyNoBetterSqlite: string | undefined = hasNodeSqlite ? whyNoDriver : undefined

/**
 * Tests that need a driver have its tag: `// @module-tag sqlite` for a file, `{ tags: ['sqlite'] }` for a test. They are
 * skipped if the driver is missing. With `CI=true` they run, and fail, on Node versions that need the driver.
 */
export const TAGS: { name: string; skip: boolean }[] = [
  { name: 'sqlite', skip: isSkipped(whyNoSqlite) },
  { name: 'better-sqlite3', skip: isSkipped(whyNoSqlite) || whyNoBetterSqlite !== undefined },
]

function isSkipped(reason: string | undefined): boolean {
  return reason !== undefined && process.env.CI !== 'true'
}
