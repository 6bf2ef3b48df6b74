import type { Variant } from '../types.ts'
import { decodeBase64 } from './base64.ts'
import { COMPACT, PYTHON_JSON, write } from './json-notations.ts'
import { type JsonTree, memberAt, membersOf } from './json-tree.ts'
import type { Source } from './source.ts'

/** Where function hosts, queues and buses put the body of the request. */
const HOSTS: readonly [path: string, host: string][] = [
  ['body', 'an event of AWS Lambda, Netlify or Vercel'],
  ['rawBody', 'a request of Azure Functions'],
  ['Message', 'a notification of Amazon SNS'],
  ['message.data', 'a push message of Google Pub/Sub'],
  ['data', 'a CloudEvent'],
  ['data_base64', 'a CloudEvent'],
  ['data.message.data', 'a CloudEvent of Google Pub/Sub'],
  ['detail', 'an event of Amazon EventBridge'],
  ['detail.body', 'an event of Amazon EventBridge'],
  ['Records.0.body', 'an event of Amazon SQS'],
  ['Records.0.Sns.Message', 'an event of Amazon SNS'],
  ['Records.0.kinesis.data', 'an event of Amazon Kinesis'],
  ['req.body', 'a context of Azure Functions'],
  ['req.rawBody', 'a context of Azure Functions'],
  ['Data.req.Body', 'a request to a custom handler of Azure Functions'],
  ['request.body', 'a request in a log'],
  ['event.body', 'an event of AWS Lambda in another object'],
  ['payload.body', 'an event in another object'],
  ['payload.data', 'an event in another object'],
  ['0.data', 'a batch of events'],
]

/** Members of the received JSON that are tested, whatever their names. */
const MAX_MEMBERS = 30

/** Yields one member of the received JSON: its text, its decoded text, or its JSON. */
export function* eventVariants({ tree, isSmall }: Source): Generator<Variant> {
  if (!tree || !('members' in tree)) return
  const seen = new Set<JsonTree>()
  for (const [path, host] of HOSTS) {
    const member = memberAt(tree, path)
    if (!member || seen.has(member)) continue
    seen.add(member)
    yield* memberVariants(member, `the member ${path} of the received JSON, as in ${host}`, isSmall)
  }
  const members = membersOf(tree).slice(0, MAX_MEMBERS)
  for (const [, member] of members) {
    if (!seen.has(member))
      yield* memberVariants(member, DESCRIPTIONS[tree.kind as 'object' | 'array'], isSmall)
  }
}

const DESCRIPTIONS = {
  object: 'one member of the received JSON',
  array: 'one element of the received JSON array',
}

function* memberVariants(member: JsonTree, description: string, isSmall: boolean): Generator<Variant> {
  if (member.kind === 'literal') return
  if (member.kind === 'string') {
    yield [member.text, description]
    const decoded = decodeBase64(member.text)
    if (decoded) yield [decoded, `${description}, decoded from base64`]
    return
  }
  yield [member.raw, description]
  if (/[\s\\]/.test(member.raw)) yield [write(member, COMPACT), `${description}, in compact JSON`]
  if (isSmall) yield [write(member, PYTHON_JSON), `${description}, written by Python`]
}

/** Members in which senders wrap the payload. */
const WRAPPERS = ['payload', 'data', 'event', 'body', 'events', 'message']

/** Yields JSON that contains the body as its only member. */
export function* wrapperVariants({ text, tree }: Source): Generator<Variant> {
  if (text === undefined) return
  if (tree) {
    for (const name of WRAPPERS) {
      const description = `JSON that contains this body as its member ${name}`
      yield [`{"${name}":${text}}`, description]
      yield [`{"${name}": ${text}}`, description]
    }
    yield [`[${text}]`, 'a JSON array that contains this body as its only element']
  }
  const literal = JSON.stringify(text)
  for (const name of WRAPPERS)
    yield [`{"${name}":${literal}}`, `JSON that contains this body as a text, in its member ${name}`]
}
