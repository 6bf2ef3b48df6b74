import { describe, expect, it } from 'vitest'
import { until } from '../../contract/inbox/fixture.ts'
import { createGate } from '../../helpers/gate.ts'
import { groupHandler } from '../../helpers/receiver-port.ts'
import { describeWith, POSTGRES } from '../../helpers/services.ts'
import { deliveryWithId, idOf } from '../deliveries.ts'
import { useSchema } from './fixture.ts'

const CHANGES_URL =
  'https://gis.example.com/rest/services/Parcels/FeatureServer/extractChanges?serverGens=[1,2]'
const rawBody = new TextEncoder().encode(
  JSON.stringify({ changesUrl: CHANGES_URL, events: [{ eventType: 'FeaturesCreated' }] }),
)

await describeWith(POSTGRES, (connectionString) => {
  describe('groups in PostgreSQL', () => {
    const { open, expire } = useSchema(connectionString, 'groups')
    const [taken = '', expired = '', kept = ''] = ['a', 'b', 'c'].map(idOf)

    it.each(['success', 'failure'])(
      'a %s of a group is recorded for the deliveries that no other process has taken',
      async (end) => {
        const options = { retryDelay: 600_000, maxRetryDelay: 600_000 }
        const [first, second] = [open(options), open(options)]
        const [gates, sizes] = [[createGate(), createGate()], [] as number[]]
        const ended: string[] = []
        const receiver = groupHandler(async (stored) => {
          sizes.push(stored.length)
          await gates[sizes.length - 1]?.gate
          ended.push('call')
          if (end === 'failure') throw new Error('no service')
          return stored.map(() => 'handled' as const)
        })
        for (const id of [taken, expired, kept]) await first.put({ ...deliveryWithId(id), rawBody })
        first.work(receiver, { coalesce: { by: 'service', wait: 3_000 } })
        await until(() => sizes.length === 1)
        // Another process takes one of two deliveries whose leases have expired.
        await expire(taken)
        second.work(receiver, { coalesce: { by: 'service', wait: 1 } })
        await until(() => sizes.length === 2)
        await expire(expired)
        gates[0]?.release()
        const isEnded = async () => (await first.get(kept))?.state !== 'active'
        await until(isEnded)
        const states = await Promise.all(
          [taken, expired, kept].map(async (id) => (await first.get(id))?.state),
        )
        expect(states).toEqual(
          end === 'success' ? ['active', 'done', 'done'] : ['active', 'waiting', 'waiting'],
        )
        expect(sizes).toEqual([3, 1])
        gates[1]?.release()
        await until(async () => (await first.get(taken))?.state !== 'active')
        expect(await first.get(taken)).toMatchObject({ attempts: 1 })
      },
    )
  })
})
