import pg from 'pg'
import { afterAll, describe } from 'vitest'
import { describeWith, POSTGRES } from '../../helpers/services.ts'
import { describeProcesses } from '../processes.ts'

await describeWith(POSTGRES, (url) => {
  const schemas: string[] = []
  afterAll(async () => {
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    for (const schema of schemas) await client.query(`drop schema if exists ${schema} cascade`)
    await client.end()
  })

  describe('several processes on PostgreSQL', () => {
    describeProcesses({
      url,
      attemptAfterKill: 1,
      async name() {
        const schema = `geohook_many_${process.pid}_${Date.now()}_${schemas.length}`
        schemas.push(schema)
        return `postgres:${schema}`
      },
    })
  })
})
