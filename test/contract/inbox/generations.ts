import type { DurableInbox } from 'geohook/inbox'
import { describe, expect } from 'vitest'
import type { InboxEngineKind } from './engine.ts'
import { send, testInbox } from './fixture.ts'

const SERVICE = 'https://gis.example.com/server/rest/services/Parcels/FeatureServer'

/** Tests the generations of feature services. */
export function describeGenerations(kind: InboxEngineKind): void {
  describe('generations', () => {
    const it = testInbox(kind)
    /** The last handled generations of the service in the order of the layers. */
    const read = async ({ generations }: DurableInbox, service = SERVICE, handler?: string) =>
      [...(await generations.get(service, handler))].sort(([a], [b]) => a - b)

    it('are empty for an unknown service', async ({ open }) => {
      expect(await read(open())).toEqual([])
    })

    it('are raised layer by layer, and never lowered', async ({ open }) => {
      const inbox = open()
      await inbox.generations.raise(
        SERVICE,
        new Map([
          [0, 10],
          [3, 20],
        ]),
      )
      await inbox.generations.raise(
        SERVICE,
        new Map([
          [0, 9],
          [3, 21],
          [12, -5],
        ]),
      )
      await inbox.generations.raise(SERVICE, new Map([[12, -6]]))
      await inbox.generations.raise(SERVICE, new Map())
      expect(await read(inbox)).toEqual([
        [0, 10],
        [3, 21],
        [12, -5],
      ])
    })

    it('are replaced by lower ones, and forgotten', async ({ open }) => {
      const inbox = open()
      const { generations } = inbox
      await generations.raise(
        SERVICE,
        new Map([
          [0, 10],
          [1, 10],
        ]),
      )
      await generations.raise(`${SERVICE}/other`, new Map([[1, 1]]))
      await generations.replace(SERVICE, new Map([[1, 4]]))
      expect(await read(inbox)).toEqual([[1, 4]])
      await generations.replace(SERVICE, new Map())
      expect(await read(inbox)).toEqual([])
      await generations.replace(SERVICE, new Map([[7, 2]]))
      expect(await read(inbox)).toEqual([[7, 2]])
      expect(await read(inbox, `${SERVICE}/other`)).toEqual([[1, 1]])
    })

    it('are kept for each handler, until they are replaced for all of them', async ({ open }) => {
      const inbox = open()
      const { generations } = inbox
      await generations.raise(SERVICE, new Map([[0, 10]]))
      await generations.raise(SERVICE, new Map([[0, 20]]), 'FeaturesEdited')
      await generations.raise(SERVICE, new Map([[-2, 5]]), 'FeaturesEdited')
      await generations.raise(SERVICE, new Map([[0, 19]]), 'FeaturesEdited')
      await generations.raise(SERVICE, new Map([[0, 30]]), 'FeaturesEdited#2')
      await generations.raise(`${SERVICE}/other`, new Map([[0, 1]]), 'FeaturesEdited')
      expect(await read(inbox)).toEqual([[0, 10]])
      expect(await read(inbox, SERVICE, '')).toEqual([[0, 10]])
      expect(await read(inbox, SERVICE, 'FeaturesEdited')).toEqual([
        [-2, 5],
        [0, 20],
      ])
      expect(await read(inbox, SERVICE, 'FeaturesEdited#2')).toEqual([[0, 30]])
      for (const replacement of [new Map([[0, 4]]), new Map()]) {
        await generations.raise(SERVICE, new Map([[0, 20]]), 'FeaturesEdited')
        await generations.replace(SERVICE, replacement)
        expect(await read(inbox)).toEqual([...replacement])
        for (const handler of ['FeaturesEdited', 'FeaturesEdited#2'])
          expect(await read(inbox, SERVICE, handler)).toEqual([])
      }
      expect(await read(inbox, `${SERVICE}/other`, 'FeaturesEdited')).toEqual([[0, 1]])
    })

    it('are exact up to the largest and the smallest safe integer', async ({ open }) => {
      const inbox = open()
      const { MAX_SAFE_INTEGER: max, MIN_SAFE_INTEGER: min } = Number
      await inbox.generations.raise(
        SERVICE,
        new Map([
          [0, min],
          [1, max - 1],
          [max, 0],
        ]),
      )
      await inbox.generations.raise(
        SERVICE,
        new Map([
          [0, min + 1],
          [1, max],
        ]),
      )
      expect(await read(inbox)).toEqual([
        [0, min + 1],
        [1, max],
        [max, 0],
      ])
    })

    it('accept the longest URL, the longest handler, and the characters of every URL', async ({ open }) => {
      const inbox = open()
      const prefix = 'https://gis.example.com/a\'b%00"$1:*?[{~}]/'
      // Random, because PostgreSQL compresses repeated text before it checks the length of an index entry.
      const random = Array.from({ length: 2_000 }, () => Math.random().toString(36).slice(2, 4)).join('')
      const service = (prefix + random).slice(0, 2_000)
      await inbox.generations.raise(service, new Map([[0, 1]]))
      expect(await read(inbox, service)).toEqual([[0, 1]])
      expect(await read(inbox, service.slice(0, -1))).toEqual([])
      const handler = ` ${random.slice(0, 199)}`
      await inbox.generations.raise(service, new Map([[0, 2]]), handler)
      expect(await read(inbox, service, handler)).toEqual([[0, 2]])
    })

    it.for([
      ['an empty service', '', [[0, 1]]],
      ['a service with 2,001 characters', 'a'.repeat(2_001), [[0, 1]]],
      ['a service with a space', 'https://gis.example.com/a b', [[0, 1]]],
      ['a layer that is not an integer', SERVICE, [[0.5, 1]]],
      ['a generation that is not an integer', SERVICE, [[0, 1.5]]],
      ['a generation that is not safe', SERVICE, [[0, 2 ** 53]]],
      ['a generation that is text', SERVICE, [[0, '1']]],
    ] as [string, string, [number, number][]][])('reject %s', async ([_, service, list], { open }) => {
      const { generations } = open()
      const wrong =
        service === SERVICE ? "generations must map a layer's id" : 'service must be a URL of at most'
      const refusal = expect.objectContaining({
        code: 'config_invalid',
        message: expect.stringContaining(wrong),
      })
      await expect(generations.raise(service, new Map(list))).rejects.toEqual(refusal)
      await expect(generations.replace(service, new Map(list))).rejects.toEqual(refusal)
      if (service !== SERVICE) await expect(generations.get(service)).rejects.toEqual(refusal)
      else expect(await generations.get(service)).toEqual(new Map())
    })

    it.for(['a'.repeat(201), 'ä', 'a\n', null])('reject the handler %s', async (handler, { open }) => {
      const { generations } = open()
      const refusal = expect.objectContaining({
        code: 'config_invalid',
        message: expect.stringContaining('handler must be a text'),
      })
      await expect(generations.get(SERVICE, handler as string)).rejects.toEqual(refusal)
      await expect(generations.raise(SERVICE, new Map(), handler as string)).rejects.toEqual(refusal)
    })

    it('must be a Map', async ({ open }) => {
      const { generations } = open()
      for (const change of [generations.raise, generations.replace])
        await expect(change(SERVICE, [[0, 1]] as never)).rejects.toMatchObject({
          code: 'config_invalid',
          message: expect.stringContaining('generations must be a Map'),
        })
    })

    it('end at the highest of many concurrent raises', async ({ open }) => {
      const inboxes = kind.isShared ? [open(), open(), open()] : [open()]
      // Each layer has its highest generation in another raise, and the order of the layers differs.
      const raises = Array.from({ length: 60 }, (_, number) => {
        const layers = Array.from({ length: 20 }, (_, layer): [number, number] => [
          layer,
          (number * 7 + layer * 13) % 60,
        ])
        return number % 2 === 0 ? layers : layers.reverse()
      })
      await Promise.all(
        raises.map((list, index) =>
          inboxes[index % inboxes.length]?.generations.raise(SERVICE, new Map(list)),
        ),
      )
      const expected = Array.from({ length: 20 }, (_, layer) => [layer, 59])
      for (const inbox of inboxes) expect(await read(inbox)).toEqual(expected)
    })

    it('are those of one replacement after several concurrent ones', async ({ open }) => {
      const inboxes = kind.isShared ? [open(), open()] : [open()]
      const lists = Array.from({ length: 30 }, (_, number) =>
        Array.from({ length: 1 + (number % 5) }, (_, layer): [number, number] => [layer, number]),
      )
      const { generations } = inboxes[0] as DurableInbox
      const handlers = Array.from({ length: 20 }, (_, number) => `handler ${number}`)
      await Promise.all(handlers.map((handler) => generations.raise(SERVICE, new Map([[0, 1]]), handler)))
      await Promise.all(
        lists.map((list, index) =>
          inboxes[index % inboxes.length]?.generations.replace(SERVICE, new Map(list)),
        ),
      )
      for (const handler of handlers)
        expect(await read(inboxes[0] as DurableInbox, SERVICE, handler)).toEqual([])
      expect(lists).toContainEqual(await read(inboxes[0] as DurableInbox))
    })

    it('are not changed by deliveries', async ({ open }) => {
      const inbox = open()
      await inbox.generations.raise(SERVICE, new Map([[0, 3]]))
      await send(inbox)
      await inbox.purge({ state: 'dead' })
      expect(await read(inbox)).toEqual([[0, 3]])
      expect((await inbox.list()).entries).toHaveLength(1)
      expect(await inbox.stats()).toMatchObject({ waiting: 1, active: 0, done: 0, dead: 0 })
    })

    it('are unavailable after the inbox is closed', async ({ open }) => {
      const inbox = open()
      await inbox.generations.raise(SERVICE, new Map([[0, 3]]))
      await inbox.close()
      await expect(inbox.generations.get(SERVICE)).rejects.toThrow('closed')
      await expect(inbox.generations.raise(SERVICE, new Map([[0, 3]]))).rejects.toThrow('closed')
      await expect(inbox.generations.replace(SERVICE, new Map())).rejects.toThrow('closed')
    })

    if (kind.isShared) {
      it('are shared by inboxes, and survive closing', async ({ open }) => {
        const [first, second] = [open(), open()]
        await first.generations.raise(SERVICE, new Map([[0, 3]]))
        await second.generations.raise(SERVICE, new Map([[1, 4]]))
        await Promise.all([first.close(), second.close()])
        expect(await read(open())).toEqual([
          [0, 3],
          [1, 4],
        ])
      })
    }
  })
}
