import pg from 'pg'
import type { TestContext } from 'vitest'
import type { MirrorRows } from './mirror-content.ts'

let schemas = 0

/** Creates schemas for the mirror and the inbox of examples/sync, which are dropped after the test. */
export async function openSchema(
  { onTestFinished }: TestContext,
  connectionString: string,
): Promise<{ env: Record<string, string>; readRows(): Promise<MirrorRows> }> {
  const schema = `geohook_sync_${process.pid}_${Date.now()}_${schemas++}`
  const options = `-c search_path=${schema}`
  const client = new pg.Client({ connectionString, options })
  await client.connect()
  await client.query(`create schema ${schema}`)
  onTestFinished(async () => {
    await client.query(`drop schema if exists ${schema}, ${schema}_inbox cascade`)
    await client.end()
  })
  const url = new URL(connectionString)
  url.searchParams.set('options', options)
  const rowsOf = async (table: string) => (await client.query(`select * from ${table}`)).rows
  return {
    env: { DATABASE_URL: url.href, INBOX_SCHEMA: `${schema}_inbox` },
    readRows: async () => ({ features: await rowsOf('features'), attachments: await rowsOf('attachments') }),
  }
}
