import { createChanges, createSnapshots, toGeoJson } from 'geohook/changes'
import { createMemoryRows } from 'geohook/inbox'
import { expect, it } from 'vitest'

it.each([undefined, null, 1, 'event', [null], { events: null }, { events: [1] }])(
  'of(%j) rejects with config_invalid',
  async (source) => {
    const changes = createChanges({ origins: ['https://gis.example.com'] })
    await expect(changes.of(source as never)).rejects.toMatchObject({ code: 'config_invalid' })
  },
)

it('toGeoJson throws changes_malformed for an invalid geometry', () => {
  const convert = () => toGeoJson({ attributes: {}, geometry: { rings: [[]] } })
  expect(convert).toThrow(expect.objectContaining({ code: 'changes_malformed' }))
})

it.each([null, {}, { attributes: null }, 5, []])(
  'fill() rejects the feature %j with config_invalid',
  async (feature) => {
    const snapshots = createSnapshots({ store: createMemoryRows() })
    const filled = snapshots.fill('https://gis.example.com/P/FeatureServer', 0, [feature as never])
    await expect(filled).rejects.toMatchObject({ code: 'config_invalid' })
  },
)
