import { createRequire, isBuiltin } from 'node:module'

const hasNodeSqlite = isBuiltin('node:sqlite')

/** Opens a database, because a driver that was compiled for another Node version fails only at this point. */
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

/** The reason why tests cannot use SQLite, or `undefined` if they can. */
export const whyNoSqlite: string | undefined =
  whyNoDriver && !hasNodeSqlite ? `${whyNoDriver}, or use Node 22.13` : undefined

/** The reason why tests cannot use `better-sqlite3` on a Node version that includes SQLite, otherwise `undefined`. */
export const whyNoBetterSqlite: string | undefined = hasNodeSqlite ? whyNoDriver : undefined

/**
 * Tags for tests that need a driver: `// @module-tag sqlite` for a file, `{ tags: ['sqlite'] }` for a test. If the
 * driver is missing, these tests are skipped. With `CI=true`, they fail instead if Node has no built-in SQLite.
 */
export const TAGS: { name: string; skip: boolean }[] = [
  { name: 'sqlite', skip: isSkipped(whyNoSqlite) },
  { name: 'better-sqlite3', skip: isSkipped(whyNoSqlite) || whyNoBetterSqlite !== undefined },
]

function isSkipped(reason: string | undefined): boolean {
  return reason !== undefined && process.env.CI !== 'true'
}
