import { createChanges, toGeoJSON } from 'geohook/changes'
import { expect, it } from 'vitest'

it.each([undefined, null, 1, 'event', [null], { events: null }, { events: [1] }])(
  'of(%j) rejects with config_invalid',
  async (source) => {
    const changes = createChanges({ origins: ['https://gis.example.com'] })
    await expect(changes.of(source as never)).rejects.toMatchObject({ code: 'config_invalid' })
  },
)

it('toGeoJSON throws changes_malformed for an invalid geometry', () => {
  const convert = () => toGeoJSON({ attributes: {}, geometry: { rings: [[]] } })
  expect(convert).toThrow(expect.objectContaining({ code: 'changes_malformed' }))
})
