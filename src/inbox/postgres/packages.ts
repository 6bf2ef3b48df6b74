import { warn } from '../../receiver/log.ts'
import { driverError } from '../driver.ts'

/** The range in the package.json of pg-boss. */
const BOSS_NODE = 'Node 22.12 or later'

let warned = false

/**
 * Loads pg-boss. On a Node version that pg-boss does not support, warns once per process: the tests of
 * geohook pass on Node 20, but pg-boss may stop working there with any release.
 */
export async function loadBoss(): Promise<typeof import('pg-boss')> {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
  const isSupported = major > 22 || (major === 22 && minor >= 12)
  if (!isSupported && !warned) {
    warned = true
    const text = `pg-boss requires ${BOSS_NODE}, and this is Node ${process.versions.node}. Upgrade Node.`
    warn(text, 'node_unsupported')
  }
  try {
    return await import('pg-boss')
  } catch (cause) {
    const isMissing = (cause as { code?: unknown }).code === 'ERR_MODULE_NOT_FOUND'
    const fix = isSupported || isMissing ? 'npm install pg-boss' : `use ${BOSS_NODE}`
    throw driverError(`an inbox in PostgreSQL needs the package pg-boss: ${fix}`, cause)
  }
}

/** Loads pg. @param purpose what needs it, in the plural */
export async function loadPg(purpose: string): Promise<typeof import('pg')> {
  try {
    return await import('pg')
  } catch (cause) {
    throw driverError(`${purpose} in PostgreSQL need the package pg: npm install pg`, cause)
  }
}
