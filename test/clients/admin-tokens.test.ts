import { createAdmin } from 'geohook/admin'
import { expect, it } from 'vitest'
import { asApp, asUser, PRODUCTS, startLike } from './support.ts'

it.each([...PRODUCTS, 'portal'] as const)(
  'credentials of @esri/arcgis-rest-request administer a mock like %s',
  async (product) => {
    const mock = await startLike(product)
    const url = product === 'portal' ? mock.portal : mock.url
    for (const token of [await asUser(mock), asApp(mock)]) {
      const found = []
      for await (const webhook of createAdmin({ url, product, token }).list()) found.push(webhook)
      expect(found).toEqual([])
    }
  },
)
