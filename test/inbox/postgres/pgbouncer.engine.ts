import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { until } from '../../contract/inbox/fixture.ts'
import { findPgBouncer } from '../../helpers/pgbouncer.ts'
import { findPort } from '../../helpers/port.ts'
import { type Started, startProgram } from '../../helpers/process.ts'
import { describeWith, POSTGRES } from '../../helpers/services.ts'
import { deliveryWithId, idOf } from '../deliveries.ts'
import { useSchema } from './fixture.ts'

await describeWith({ name: 'pgbouncer', url: POSTGRES.url }, (connectionString) => {
  describe('an inbox behind PgBouncer in transaction mode', () => {
    const { open } = useSchema(connectionString, 'bouncer')
    const folder = mkdtempSync(join(tmpdir(), 'geohook-pgbouncer-'))
    let bouncer: Started
    let url = ''
    beforeAll(async () => {
      const port = await findPort()
      const { hostname, port: serverPort, username, password } = new URL(connectionString)
      const login = [
        `user=${decodeURIComponent(username)}`,
        password && `password=${decodeURIComponent(password)}`,
      ]
      writeFileSync(
        join(folder, 'pgbouncer.ini'),
        `[databases]
* = host=${hostname} port=${serverPort || 5432} ${login.filter(Boolean).join(' ')}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 2
user = nobody`,
      )
      bouncer = startProgram(findPgBouncer() ?? '', [join(folder, 'pgbouncer.ini')])
      await bouncer.printed(/listening on/)
      url = `postgres://anyone@127.0.0.1:${port}${new URL(connectionString).pathname}`
    })
    afterAll(async () => {
      await bouncer?.stop('SIGTERM')
      rmSync(folder, { recursive: true, force: true })
    })

    it('handles and retries deliveries, and polls because notifications do not arrive', async () => {
      const pool = new pg.Pool({ connectionString: url, max: 4 })
      onTestFinished(() => pool.end())
      const [worker, other] = [open({ pool }), open({ pool })]
      const attempts = new Map<string, number[]>()
      worker.work({
        async handle({ id }, { attempt }) {
          attempts.set(id, [...(attempts.get(id) ?? []), attempt])
          if (id === idOf(3) && attempt === 1) throw new Error('once')
        },
      })
      const ids = [1, 2, 3, 4, 5].map(idOf)
      const results = await Promise.all([...ids, ...ids].map((id) => other.put(deliveryWithId(id))))
      expect(results.sort()).toEqual([...Array(5).fill('duplicate'), ...Array(5).fill('stored')])
      await until(async () => (await worker.stats()).done === 5)
      expect(attempts).toEqual(new Map(ids.map((id) => [id, id === idOf(3) ? [1, 2] : [1]])))
      // The connection of the trial is given back.
      await until(() => pool.idleCount === pool.totalCount)
      await Promise.all([worker.close(), other.close()])
    })
  })
})
