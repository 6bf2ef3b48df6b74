// parsePayload() never throws. It returns a documented code, or a payload without keys that can pollute a prototype and
// events of the documented shape. A JSON object that is not nested too deeply is always accepted, and equals the value of
// JSON.parse.
//
// An input is the content type, a line break, and the body.
import { isDeepStrictEqual } from 'node:util'
import { parsePayload } from '../../../src/payload/parse.ts'
import { require, requireNoPollution, splitLine } from './support.mjs'

const decoder = new TextDecoder('utf-8', { fatal: true })
const CODES = ['content_type_unsupported', 'payload_malformed']
const TEXTS = ['changesUrl', 'statusUrl', 'jobId', 'taskName']

export const words = [
  'application/json',
  'application/x-www-form-urlencoded',
  'charset=utf-8',
  'x-service=',
  'payload=',
]
const JSON_EVENT =
  '{"serviceType":"FeatureServer","name":"a","id":"1","folderName":"","serviceName":"Parcels","changesUrl":"https%3a%2f%2fa%2fextractChanges%3fserverGens%3d[1,2]","events":[{"eventType":"FeaturesCreated","when":1730385704000}]}'
const HOSTED =
  '[{"name":"a","layerId":0,"orgId":"o","serviceName":"s","lastUpdatedTime":1730385704000,"changesUrl":"https%3A%2F%2Fa","events":["FeaturesCreated"]}]'
export const seeds = [
  `application/json\n${JSON_EVENT}`,
  `application/json; charset=utf-8\n${HOSTED}`,
  'application/json\n{"info":{"webhookName":"a","webhookId":"1","when":1},"events":[{"operation":"add","when":2}]}',
  'application/json\n{"serviceType":"GPServer","jobId":"j","statusURL":"https://a","taskName":"t","events":[{"eventType":"esriJobSucceeded"}]}',
  `application/x-www-form-urlencoded\npayload=${encodeURIComponent(JSON_EVENT)}&x-service=abc`,
  `application/x-www-form-urlencoded\npayload=${HOSTED}`,
  'application/x-www-form-urlencoded\nname=a&events=%5B%22FeaturesCreated%22%5D&when=2024-01-01T00:00',
]

export function run(input) {
  const [contentType, body] = splitLine(input)
  const result = parsePayload({ body, contentType: contentType === '' ? undefined : contentType })
  if (!result.ok) {
    require(CODES.includes(result.code), 'undocumented code', result.code)
    require(typeof result.message === 'string' && result.message !== '', 'no message')
  } else requireParsed(result)
  if (contentType === 'application/json') requireLikeJson(body, result)
}

function requireParsed({ payload, changeTypes, events }) {
  require(typeof payload === 'object' && payload !== null, 'the payload is not an object')
  requireNoPollution(payload)
  requireNoPollution(events)
  require(events.length > 0, 'no events')
  const named = [...new Set(events.map(({ changeType }) => changeType).filter((name) => name !== ''))]
  require(isDeepStrictEqual(changeTypes, named), 'changeTypes', changeTypes, named)
  for (const event of events) {
    const { changeType, when, layerId, service, webhook } = event
    require(typeof changeType === 'string', 'changeType', changeType)
    require(when === undefined || Number.isFinite(when.getTime()), 'when')
    require(layerId === undefined || Number.isSafeInteger(layerId), 'layerId', layerId)
    for (const name of TEXTS)
      require(event[name] === undefined || typeof event[name] === 'string', name, event[name])
    for (const name of ['folderName', 'serviceName', 'serviceType'])
      require(typeof service[name] === 'string', name, service[name])
    for (const text of Object.values(webhook)) require(typeof text === 'string', 'webhook', webhook)
  }
}

function requireLikeJson(body, result) {
  let value
  try {
    value = JSON.parse(decoder.decode(body))
  } catch {
    return require(!result.ok && result.code === 'payload_malformed', 'invalid JSON was accepted', result)
  }
  if (typeof value !== 'object' || value === null)
    return require(!result.ok, 'not an object, but accepted', value)
  if (result.ok)
    return require(isDeepStrictEqual(result.payload, value), 'the payload differs from JSON.parse')
  require(/forbidden key|nested deeper/.test(result.message), 'valid JSON was refused', result.message)
}
