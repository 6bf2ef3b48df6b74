import { PgBoss } from 'pg-boss'

/**
 * Creates the tables of pg-boss in a schema. An inbox creates them itself, but on a busy machine this takes longer than
 * a call of the inbox may wait.
 */
export async function createTables(connectionString: string, schema: string): Promise<void> {
  const boss = new PgBoss({ connectionString, schema, supervise: false, schedule: false })
  boss.on('error', () => {})
  await boss.start()
  await boss.stop({ graceful: false })
}
