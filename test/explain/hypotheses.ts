import { ALGORITHMS } from '../../src/explain/algorithms.ts'
import { cheapBodies, compressedBodies, expensiveBodies } from '../../src/explain/bodies/bodies.ts'
import { ORDERS } from '../../src/explain/json/orders.ts'
import { WRITERS } from '../../src/explain/json/writers.ts'
import { CASE } from '../../src/explain/keys/case.ts'
import { CHARSETS } from '../../src/explain/keys/charsets.ts'
import { COPIED } from '../../src/explain/keys/copied.ts'
import { CUT } from '../../src/explain/keys/cut.ts'
import { DECODED, ENCODED } from '../../src/explain/keys/encodings.ts'
import { ESCAPED, HTML, PERCENT } from '../../src/explain/keys/escapes.ts'
import { hashesAndLists } from '../../src/explain/keys/hashed.ts'
import { INVISIBLE } from '../../src/explain/keys/invisible.ts'
import { LISTS } from '../../src/explain/keys/lists.ts'
import { PLACEHOLDERS } from '../../src/explain/keys/placeholders.ts'
import { PREFIXES } from '../../src/explain/keys/prefixes.ts'
import { QUOTES } from '../../src/explain/keys/quotes.ts'
import { TYPOGRAPHY } from '../../src/explain/keys/typography.ts'
import { WHITE_SPACE } from '../../src/explain/keys/white-space.ts'
import { keyHypotheses } from '../../src/explain/keys.ts'
import type { ReceivedRequest } from '../../src/explain/request.ts'
import { signedTexts } from '../../src/explain/signed-texts.ts'
import { utf8 } from '../../src/shared/bytes.ts'

const TABLES = [
  WHITE_SPACE,
  CASE,
  QUOTES,
  DECODED,
  ENCODED,
  INVISIBLE,
  CHARSETS,
  PERCENT,
  PREFIXES,
  COPIED,
  TYPOGRAPHY,
  HTML,
  ESCAPED,
  LISTS,
  CUT,
  PLACEHOLDERS,
]

/** The ends of sentences that name the hypotheses, in five groups. */
export type Hypotheses = Readonly<
  Record<'algorithms' | 'keys' | 'texts' | 'bodies' | 'json', readonly string[]>
>

/** Returns true if a diagnosis with this evidence names the hypothesis. */
export const isNamed = (hypothesis: string, evidence: string): boolean => {
  const text = withoutVariants(evidence)
  if (text.includes(`${hypothesis}.`)) return true
  // A comma and the notation of the JSON may follow.
  return (
    /received JSON|same JSON|^with |^\{/.test(hypothesis) &&
    new RegExp(`${toPattern(hypothesis)}[,}]`).test(text)
  )
}

const toPattern = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')

/** Removes what depends on the body or the key: the size of a buffer, and that the key was trimmed. */
const withoutVariants = (text: string): string =>
  text
    .replace(/up to a size of \d+ bytes/, 'up to a size')
    .replace(', after white space around the key on this side was removed', '')

/** Enumerates the hypotheses from the tables, and from what the generators yield for these bodies and keys. */
export async function listHypotheses(
  bodies: Iterable<Uint8Array>,
  keys: Iterable<Uint8Array>,
): Promise<Hypotheses> {
  const ofKeys = new Set(TABLES.flatMap(([, rows]) => rows.map(([description]) => description)))
  for (const key of keys) for (const [, , description] of keyHypotheses(key)) ofKeys.add(description)
  for (const [, , description] of await hashesAndLists([utf8('first'), utf8('second')]))
    ofKeys.add(description)
  const texts = new Set<string>()
  const ofBodies = new Set<string>()
  for (const body of bodies) {
    for (const request of REQUESTS)
      for (const [, , description] of signedTexts({ ...request, body })) texts.add(description)
    for (const list of [cheapBodies(body), expensiveBodies(body), await compressedBodies(body)])
      for (const [, , description] of list) ofBodies.add(description)
  }
  const json = [...ofBodies].filter((description) => description.startsWith(JSON_START))
  return {
    algorithms: ALGORITHMS.map(({ description }) => `The signature is ${description}`),
    keys: [...new Set([...ofKeys].map((description) => `computed with ${withoutVariants(description)}`))],
    texts: [
      ...[...texts].filter((text) => !/\{https? URL/.test(text)).map((description) => `over ${description}`),
      ...URLS.map((label) => `{${label}`),
    ],
    bodies: [...new Set([...ofBodies].flatMap(splitMember))],
    json: [
      ...WRITERS.map(([name]) => `over ${JSON_START} as ${name} writes it`),
      ...new Set([
        ...Object.values(ORDERS).map(([, , description]) => description),
        ...json.flatMap((description) => (description.split(' writes it, ')[1] ?? '').split(/, (?=with )/)),
      ]),
    ].filter(Boolean),
  }
}

/** Separates what a hypothesis says about the place of a member from what it says about its notation. */
function splitMember(description: string): string[] {
  if (description.startsWith(JSON_START)) return []
  const [, place, notation] =
    /^((?:the|one) (?:member|element) .*?)(, (?:decoded from base64|in compact JSON|written by Python))?$/.exec(
      description,
    ) ?? []
  if (!place) return [`over ${withoutVariants(description)}`]
  return notation ? [`over ${place}`, notation.slice(2)] : [`over ${place}`]
}

/** Names of the URLs that the sender may have known, where the receiver knows only the path and the host. */
const URLS = [
  'path and query',
  ...['https', 'http'].flatMap((scheme) => [`${scheme} URL`, `${scheme} URL without query`]),
]

const JSON_START = 'the same JSON'

const REQUEST: ReceivedRequest = {
  body: new Uint8Array(),
  headers: new Map(),
  method: 'POST',
  url: undefined,
  headerName: 'x-service',
  value: '',
  decoded: '',
  isInField: false,
  keys: [new Uint8Array(1)],
}

const HEADERS = [
  ['x-timestamp', '1730385704'],
  ['x-id', 'msg_1'],
  ['content-type', 'application/json'],
] as const

/** Requests that leave each placeholder of a signed text at most one value, so that no text is left out. */
const REQUESTS: readonly ReceivedRequest[] = [
  { ...REQUEST, headers: new Map(HEADERS), url: 'https://gis.example' },
  { ...REQUEST, headers: new Map(HEADERS), url: '/hooks' },
  { ...REQUEST, headers: new Map([...HEADERS, ['host', 'gis.example']]), url: '/hooks' },
]
