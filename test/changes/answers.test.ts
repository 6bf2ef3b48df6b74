import { describe, expect, it } from 'vitest'
import { startService } from './support.ts'

describe('createChanges().of()', () => {
  it.each(['job', 'embedded'] as const)('returns the changes of an answer of the kind %s', async (answer) => {
    const service = await startService({ extractChanges: { answer } })
    const { layers, layerServerGens } = await service.changes().of(service.event())
    expect(layers).toMatchObject([
      {
        service: service.url,
        id: 0,
        adds: [
          { attributes: { name: 'one' }, geometry: { x: 0, y: 0 } },
          { attributes: { name: 'two' }, geometry: { x: 1, y: 1 } },
        ],
        updates: [],
        deletes: { ids: [] },
        attachments: { adds: [], updates: [], deleteIds: [] },
      },
    ])
    expect(layerServerGens).toEqual([{ service: service.url, id: 0, serverGen: expect.any(Number) }])
  })
})
