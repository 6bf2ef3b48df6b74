/** Loads pg-boss on first use. */
export async function loadBoss(): Promise<typeof import('pg-boss')> {
  try {
    return await import('pg-boss')
  } catch (cause) {
    throw new Error('an inbox in PostgreSQL needs the package pg-boss: npm install pg-boss', { cause })
  }
}

/** Loads pg on first use. */
export async function loadPg(): Promise<typeof import('pg')> {
  try {
    return await import('pg')
  } catch (cause) {
    throw new Error('duplicates in PostgreSQL need the package pg: npm install pg', { cause })
  }
}
