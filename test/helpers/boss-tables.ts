import { PgBoss } from 'pg-boss'

/**
 * Creates the tables of pg-boss in a schema. An inbox creates them itself, but on a busy machine its first call can time
 * out meanwhile.
 */
export async function createTables(connectionString: string, schema: string): Promise<void> {
  const boss = new PgBoss({ connectionString, schema, supervise: false, schedule: false })
  boss.on('error', () => {}) // without a listener, an error would end the process
  await boss.start()
  await boss.stop({ graceful: false })
}
