import { createAdmin } from 'geohook/admin'
import { expect, it } from 'vitest'
import { listOf, type Product, start, stored } from './support.ts'

const SERVER = 'https://gis.example.com/server'
const HOSTED = 'https://services1.arcgis.com/0rg/arcgis'

it.each<[url: string, product: Product, base: string, service?: string]>([
  ['https://gis.example.com', 'service', 'https://gis.example.com'],
  ['http://127.0.0.1:4000/', 'service', 'http://127.0.0.1:4000'],
  ['https://gis.example.com/api/services', 'service', 'https://gis.example.com/api'],
  [
    'https://gis.example.com/services/City/Buffer.GPServer/webhooks/7f0e/edit?token=t0ken',
    'service',
    'https://gis.example.com',
    'City/Buffer.GPServer',
  ],
  [SERVER, 'enterprise', `${SERVER}/admin`],
  [`${SERVER}/`, 'enterprise', `${SERVER}/admin`],
  ['https://gis.example.com:6443/arcgis/manager/', 'enterprise', 'https://gis.example.com:6443/arcgis/admin'],
  [`${SERVER}/admin/services/webhooks`, 'enterprise', `${SERVER}/admin`],
  [`${SERVER}/rest`, 'enterprise', `${SERVER}/admin`],
  [`${SERVER}/rest/services`, 'enterprise', `${SERVER}/admin`],
  [
    `${SERVER}/rest/services/City/Parcels/FeatureServer/0?f=html#x`,
    'enterprise',
    `${SERVER}/admin`,
    'City/Parcels.FeatureServer',
  ],
  [
    `${SERVER}/REST/services/Stra%C3%9Fen/featureserver`,
    'enterprise',
    `${SERVER}/admin`,
    'Straßen.FeatureServer',
  ],
  [`${SERVER}/rest/services/rest/GPServer`, 'enterprise', `${SERVER}/admin`, 'rest.GPServer'],
  [`${SERVER}/rest/services/Parcels/MapServer`, 'enterprise', `${SERVER}/admin`],
  [HOSTED, 'online', `${HOSTED}/rest/admin`],
  [
    `${HOSTED}/rest/services/Parcels/FeatureServer`,
    'online',
    `${HOSTED}/rest/admin`,
    'Parcels.FeatureServer',
  ],
  [
    `${HOSTED}/rest/admin/services/Parcels/FeatureServer/WebHooks/9`,
    'online',
    `${HOSTED}/rest/admin`,
    'Parcels.FeatureServer',
  ],
  [`${HOSTED}/rest/admin/WebHooks`, 'online', `${HOSTED}/rest/admin`],
  ['https://org.maps.arcgis.com', 'portal', 'https://org.maps.arcgis.com/sharing/rest'],
  ['https://www.arcgis.com/home/organization.html', 'portal', 'https://www.arcgis.com/sharing/rest'],
  ['https://gis.example.com/portal', 'portal', 'https://gis.example.com/portal/sharing/rest'],
  ['https://gis.example.com/portal/home', 'portal', 'https://gis.example.com/portal/sharing/rest'],
  ['https://gis.example.com/portal/portaladmin', 'portal', 'https://gis.example.com/portal/sharing/rest'],
  ['https://gis.example.com/portal/sharing/rest/x', 'portal', 'https://gis.example.com/portal/sharing/rest'],
  // Neither is a host of ArcGIS Online.
  ['https://arcgis.com.example/x', 'enterprise', 'https://arcgis.com.example/x/admin'],
  ['https://notarcgis.com/x', 'enterprise', 'https://notarcgis.com/x/admin'],
])('%s is of the product %s at %s', (url, product, base, service) => {
  const admin = createAdmin({ url })
  expect([admin.product, admin.url, admin.defaultService]).toEqual([product, base, service])
})

it.each<[url: string, product: Product, base: string]>([
  ['https://gis.example.com', 'enterprise', 'https://gis.example.com/admin'],
  ['https://gis.example.com/portal', 'portal', 'https://gis.example.com/portal/sharing/rest'],
  ['https://gis.example.com/admin', 'service', 'https://gis.example.com/admin'],
  [SERVER, 'online', `${SERVER}/rest/admin`],
])('%s with the option product %s has the address %s', (url, product, base) => {
  const admin = createAdmin({ url, product })
  expect([admin.product, admin.url]).toEqual([product, base])
})

it.each([
  ['ftp://gis.example.com', /url must be a URL that begins with/],
  ['gis.example.com/server', /url must be a URL that begins with/],
  [undefined, /url must be a URL that begins with/],
  ['https://kim:s3cret@gis.example.com', /url must not contain a user name/],
])('rejects the address %s', (url, message) => {
  const call = () => createAdmin({ url: url as string })
  expect(call).toThrow(
    expect.objectContaining({ code: 'config_invalid', message: expect.stringMatching(message) }),
  )
  expect(call).not.toThrow(/s3cret/)
})

it('sends a token over http only on this machine', () => {
  const options = { url: 'http://gis.example.com/server', token: 't0ken' }
  expect(() => createAdmin(options)).toThrow(/http:\/\/gis\.example\.com\/server\/admin is not https/)
  expect(() => createAdmin({ ...options, url: SERVER, portal: options.url })).toThrow(/is not https/)
  expect(() => createAdmin({ ...options, url: 'http://[::1]:4000/server' })).not.toThrow()
})

it.each([undefined, ''])('rejects the token %j, which would mean no token', (token) => {
  expect(() => createAdmin({ url: SERVER, token: token as string })).toThrow(
    expect.objectContaining({ code: 'config_invalid' }),
  )
})

it('takes the service from the address', async () => {
  const { url } = await start('enterprise', {
    webhooks: [stored('enterprise', { folderName: 'City', serviceName: 'Straßen & Wege' })],
  })
  const admin = createAdmin({ url: `${url}/rest/services/City/Stra%C3%9Fen%20%26%20Wege/FeatureServer` })
  const listed = await listOf(admin.service().list())
  expect(listed.map(({ service }) => service)).toEqual(['City/Straßen & Wege.FeatureServer'])
  expect(() => createAdmin({ url }).service()).toThrow(/the name of a service is missing/)
})

it.each([
  'Parcels',
  'Parcels.MapServer',
  'a/b/Parcels.FeatureServer',
  '../Parcels.FeatureServer',
  '...FeatureServer',
  '\ud800.FeatureServer',
  '',
])('rejects %j as the name of a service', (name) => {
  expect(() => createAdmin({ url: SERVER }).service(name)).toThrow(
    /the name of a service must be written like/,
  )
})
