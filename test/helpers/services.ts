import { describe, inject, it } from 'vitest'
import type { Need } from './reach.ts'
import type { Server } from './servers.ts'

export { POSTGRES, REDIS } from './servers.ts'

/**
 * Tests that need a server. Where it is of no use they fail with `CI=true`; elsewhere they are skipped, and the run has
 * said so once (reach.ts).
 */
export async function describeWith(
  { name, url }: Pick<Server, 'url'> & { name: Need },
  suite: (url: string) => void,
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
