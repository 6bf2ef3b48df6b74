import { describe, inject, it } from 'vitest'
import type { Need } from './requirements.ts'
import type { Server } from './servers.ts'

export { NATS, POSTGRES, RABBITMQ, REDIS } from './servers.ts'

/** Runs tests that need a server. If the server is unavailable, skips them, or fails with `CI=true`. */
export async function describeWith(
  { name, url }: Pick<Server, 'url'> & { name: Need },
  suite: (url: string) => void | Promise<void>,
): Promise<void> {
  const why = inject('missing')[name]
  if (why === undefined) return suite(url)
  if (process.env.CI === 'true') {
    it(`reaches ${name}`, () => {
      throw new Error(why)
    })
    return
  }
  describe.skip(`with ${name}`, () => {
    it(`needs ${name}`, () => {})
  })
}
