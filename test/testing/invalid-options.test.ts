import { WebhookError } from 'geohook'
import {
  createPayload,
  createSigner,
  type PayloadDetails,
  type PayloadEvents,
  type SignerOptions,
} from 'geohook/testing'
import { describe, expect, it } from 'vitest'
import { FORM_TYPE, JSON_TYPE, KEY } from '../helpers/deliver.ts'

/** Expects a WebhookError with `config_invalid` and exactly this message. */
function expectInvalid(run: () => unknown, message: string): void {
  let thrown: unknown
  try {
    run()
  } catch (error) {
    thrown = error
  }
  expect(thrown).toBeInstanceOf(WebhookError)
  expect([(thrown as WebhookError).code, (thrown as WebhookError).message]).toEqual([
    'config_invalid',
    message,
  ])
}

describe('createPayload rejects change types:', () => {
  const TIME = 'when must be a whole number of milliseconds since 1970, in the range of Date'
  it.each<[string, unknown, string]>([
    ['an empty list', [], 'changeTypes is empty'],
    ['undefined', undefined, 'changeType must be a string'],
    ['null in a list', [null], 'changeType must be a string'],
    ['a number', [7], 'changeType must be a string'],
    ['a list in a list', [['FeaturesCreated']], 'changeType must be a string'],
    ['an event without one', [{ when: 1 }], 'changeType must be a string'],
    ['an empty text', '', 'changeType is empty'],
    ['an empty text after a good one', ['FeaturesCreated', ''], 'changeType is empty'],
    ['white space around it', ' FeaturesCreated', 'changeType has white space around it'],
    ['only white space', '\n', 'changeType has white space around it'],
    ['the wildcard', ['*'], 'changeType must not be the wildcard *'],
    ['an event with the wildcard', { changeType: '*' }, 'changeType must not be the wildcard *'],
    ['a time as a text', { changeType: 'A', when: '1' }, TIME],
    ['null as time', { changeType: 'A', when: null }, TIME],
    ['a fraction', { changeType: 'A', when: 1.5 }, TIME],
    ['a time beyond the range of dates', { changeType: 'A', when: 8.64e15 + 1 }, TIME],
  ])('%s', (_, changeTypes, message) => {
    for (const dialect of ['service', 'hosted', 'organization'] as const)
      expectInvalid(() => createPayload(changeTypes as PayloadEvents, { dialect }), message)
  })
})

describe('createPayload rejects details:', () => {
  const GENS = 'serverGens must be a non-empty array of whole numbers, each 0 or greater'
  const TWO = 'serverGens must be two numbers: the first and the last generation'
  const LAYERS = 'layerIds must be a non-empty array of whole numbers, each 0 or greater'
  const SERVER = 'serverUrl must be an http or https URL without a query or fragment'
  const TEXTS = ['serviceName', 'name', 'id', 'url', 'jobId', 'taskName', 'orgId'].concat(
    ...['username', 'userId', 'source', 'itemId'],
  )

  it.each<[string, object, string]>([
    ['a service type', { serviceType: 'MapServer' }, 'serviceType must be one of FeatureServer, GPServer'],
    ['an encoding of changesUrl', { changesUrl: 'full' }, 'changesUrl must be one of partial, whole, none'],
    [
      'a time',
      { when: Number.NaN },
      'when must be a whole number of milliseconds since 1970, in the range of Date',
    ],
    [
      'a Date',
      { when: new Date() },
      'when must be a whole number of milliseconds since 1970, in the range of Date',
    ],
    ['a negative generation', { serverGens: [-1, 2] }, GENS],
    ['a fraction of a generation', { serverGens: [1, 2.5] }, GENS],
    ['generations as text', { serverGens: ['1', '2'] }, GENS],
    ['a number as generations', { serverGens: 12 }, GENS],
    ['no generations', { serverGens: [] }, GENS],
    ['one generation', { serverGens: [1] }, TWO],
    ['three generations', { serverGens: [1, 2, 3] }, TWO],
    [
      'generations backwards',
      { serverGens: [2, 1] },
      'serverGens: the first generation must not be greater than the last',
    ],
    ['no layers', { layerIds: [] }, LAYERS],
    ['a negative layer', { layerIds: [0, -1] }, LAYERS],
    ['a layer as text', { layerIds: ['0'] }, LAYERS],
    ['one layer without a list', { layerIds: 0 }, LAYERS],
    ['a layer twice', { layerIds: [0, 1, 0] }, 'layerIds must not contain a layer twice'],
    ['a server URL without a scheme', { serverUrl: 'server.example/rest' }, SERVER],
    ['a server URL of another scheme', { serverUrl: 'file:///rest' }, SERVER],
    ['a server URL with a query', { serverUrl: 'https://server.example/rest?f=json' }, SERVER],
    ['a server URL with an invalid port', { serverUrl: 'https://server.example:99999' }, SERVER],
    ['a URL object as server', { serverUrl: new URL('https://server.example') }, SERVER],
    ['an empty server URL', { serverUrl: '' }, SERVER],
    [
      'a portal',
      { portalUrl: 'portal' },
      'portalUrl must be an http or https URL without a query or fragment',
    ],
    ['an organization with a path', { orgId: 'a/b' }, 'orgId must not contain white space, a slash, ? or #'],
    ['a folder', { folderName: null }, 'folderName must be a string'],
    ...TEXTS.flatMap((option): [string, object, string][] => [
      [`${option} as a number`, { [option]: 7 }, `${option} must be a string`],
      [`an empty ${option}`, { [option]: '' }, `${option} is empty`],
    ]),
  ])('%s', (_, details, message) => {
    // Every dialect validates all details, including those that it does not use.
    for (const dialect of ['service', 'hosted', 'organization'] as const)
      expectInvalid(
        () => createPayload('FeaturesCreated', { dialect, ...(details as PayloadDetails) }),
        message,
      )
  })

  it.each(['portal', '', 'SERVICE', null, 'toString'])('the dialect %j', (dialect) => {
    expectInvalid(
      () => createPayload('FeaturesCreated', { dialect } as PayloadDetails),
      'dialect must be one of service, hosted, organization',
    )
  })

  it('a job in the hosted dialect', () => {
    const message = 'the hosted dialect has no geoprocessing jobs'
    expectInvalid(() => createPayload('esriJobFailed', { dialect: 'hosted' }), message)
    expectInvalid(() => createPayload('A', { dialect: 'hosted', serviceType: 'GPServer' }), message)
  })

  it('a name with a lone surrogate, in a URL that is completely encoded', () => {
    expectInvalid(
      () => createPayload('A', { dialect: 'hosted', serviceName: '\ud800' }),
      'text with a lone surrogate cannot be percent-encoded',
    )
  })
})

describe('createSigner rejects', () => {
  const HEADER = 'signatureHeader is not a valid HTTP header name'
  it.each<[string, object, string]>([
    [
      'a content type',
      { contentType: 'text/plain' },
      `contentType must be one of ${JSON_TYPE}, ${FORM_TYPE}`,
    ],
    ['a place of the signature', { signatureIn: 'query' }, 'signatureIn must be one of header, field'],
    ['a format', { payloadFormat: 'xml' }, 'payloadFormat must be one of json, pjson'],
    ['a form payload', { formPayload: 'raw' }, 'formPayload must be one of encoded, plain'],
    ['percentEncoded', { percentEncoded: 'yes' }, 'percentEncoded must be true or false'],
    ['a prefix', { prefix: null }, 'prefix must be a string'],
    ['an empty header name', { signatureHeader: '' }, HEADER],
    ['a header name with a space', { signatureHeader: 'x service' }, HEADER],
    ['a header name with a line feed', { signatureHeader: 'x-service\n' }, HEADER],
    [
      'a header name that would end the form field',
      { signatureHeader: 'a&b' },
      'signatureHeader must not contain an ampersand',
    ],
  ])('%s', (_, options, message) => {
    expectInvalid(() => createSigner({ signatureKey: KEY, ...options } as SignerOptions), message)
  })

  it.each(['a=1', 'payload', '{}', ''])(
    'a body %j that does not start with payload=, for a signature in a field',
    async (body) => {
      const signer = createSigner({ signatureKey: KEY, contentType: FORM_TYPE, signatureIn: 'field' })
      await expect(signer.sign(Buffer.from(body))).rejects.toMatchObject({
        code: 'config_invalid',
        message: 'if the signature goes into a field, the body must start with payload=',
      })
    },
  )
})
