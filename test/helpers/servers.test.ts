import { describe, expect, it } from 'vitest'
import { createPrivateRedis, findRedis } from './private-redis.ts'
import { NATS, POSTGRES, RABBITMQ, REDIS, whyMissing } from './servers.ts'
import { unusedUrl } from './target.ts'

const PASSWORD = 'Geheimnis/0123456789'

describe.each([POSTGRES, REDIS, RABBITMQ, NATS])('$name is unreachable', (server) => {
  it('reports in one line how to start it, without the password', async () => {
    const { host } = new URL(await unusedUrl())
    const scheme = new URL(server.url).protocol
    const url = `${scheme}//tests:${encodeURIComponent(PASSWORD)}@${host}`
    const why = (await whyMissing(server, url)) ?? ''
    expect(why).toBe(
      `no ${server.name} (ECONNREFUSED). Start one (${server.howToStart}) or set ${server.variable}.`,
    )
  })
})

it('redacts the password if the error of a server quotes it', async () => {
  for (const password of [encodeURIComponent(PASSWORD), 'a%zz']) {
    const reach = () => Promise.reject(new Error(`no: ${password.replace('%2F', '/')}, ${password}`))
    const why = await whyMissing({ ...POSTGRES, reach }, `postgres://tests:${password}@127.0.0.1/x`)
    expect(why).toBe('PostgreSQL cannot be used: no: ***, ***. Look at it, or set DATABASE_URL.')
  }
})

const program = findRedis()
it.skipIf(!program && process.env.CI !== 'true')(
  'reports a rejected password without quoting it',
  async () => {
    const server = await createPrivateRedis(program ?? 'redis-server')
    try {
      await server.start()
      expect(await whyMissing(REDIS, server.url)).toBeUndefined()
      const url = new URL(server.url)
      url.password = encodeURIComponent(PASSWORD)
      expect(await whyMissing(REDIS, url.href)).toMatch(/^Redis cannot be used: WRONGPASS .*set REDIS_URL\.$/)
      url.password = ''
      expect(await whyMissing(REDIS, url.href)).toMatch(/^Redis cannot be used: NOAUTH /)
    } finally {
      await server.remove()
    }
  },
)
