import { warn } from '../../receiver/log.ts'

/** The range in the package.json of pg-boss. */
const BOSS_NODE = 'Node 22.12 or later'

let warned = false

/**
 * Loads pg-boss in the background. Loading it with the first delivery could be too late: if the process has no free file
 * descriptor, the import fails, and Node 20 never repeats a failed import.
 */
export function preloadBoss(): void {
  import('pg-boss').catch(() => {}) // loadBoss() reports the error
}

/**
 * Loads pg-boss on first use. On a Node version that pg-boss does not support, warns once per process: the tests of
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
    throw new Error(`an inbox in PostgreSQL needs the package pg-boss: ${fix}`, { cause })
  }
}

/** Loads pg. @param purpose what needs it, in the plural */
export async function loadPg(purpose: string): Promise<typeof import('pg')> {
  try {
    return await import('pg')
  } catch (cause) {
    throw new Error(`${purpose} in PostgreSQL need the package pg: npm install pg`, { cause })
  }
}
