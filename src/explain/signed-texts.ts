import { concat, utf8 } from '../shared/bytes.ts'
import type { ReceivedRequest } from './request.ts'
import { type Placeholder, readValues, type Value } from './request-values.ts'
import type { Hypothesis } from './types.ts'

/**
 * Texts that other webhook schemes sign in place of the body alone, likely ones first. The placeholders are `t` (a
 * timestamp of the request), `id` (of the message, the sender or the request), `url`, `path`, `method`, `host`,
 * `contentType` and `body`.
 */
const TEMPLATES: readonly string[] = [
  '{t}.{body}', // Stripe, Calendly, Mux
  'v0:{t}:{body}', // Slack, Zoom
  '{id}.{t}.{body}', // Standard Webhooks, Svix
  '{t}:{body}', // Paddle, Front
  '{t}{body}', // Zendesk, Airwallex, Cashfree
  '{body}{t}', // Box, Klaviyo
  '{id}{t}{body}', // Twitch
  '{url}{body}', // Square
  '{body}{url}', // Trello
  '{method}{url}{body}{t}', // HubSpot v3
  '{method}{url}{body}', // HubSpot v2
  '{t}{method}{path}{body}', // Coinbase, KuCoin, OKX
  '{body}.{t}',
  '{t}\n{body}',
  '{t}|{body}',
  '{t}.{id}.{body}',
  '{t}{id}{body}',
  '{t}\n{id}\n{body}\n', // WeChat Pay, Binance Pay
  '{method}\n{path}\n{body}',
  '{method}\n{path}\n{t}\n{body}',
  '{t}\n{method}\n{path}\n{body}',
  '{t}-{body}',
  '{t}_{body}',
  '{t},{body}',
  '{t};{body}',
  '{t}&{body}',
  '{t} {body}',
  '{t}.{body}.{t}', // Everifin
  'v1:{t}:{body}',
  'v1.{t}.{body}',
  't={t}.{body}',
  't={t},{body}',
  '{body}:{t}',
  '{body}|{t}',
  '{body}\n{t}',
  '{id}.{body}',
  '{id}{body}',
  '{id}:{body}',
  '{id}|{body}',
  '{id}\n{body}',
  '{body}{id}',
  '{body}.{id}',
  '{id}:{t}:{body}',
  '{t}:{id}:{body}',
  '{id}|{t}|{body}',
  '{id}\n{t}\n{body}',
  '{t}\n{id}\n{body}',
  '{t}.{url}.{body}',
  '{t}{url}{body}',
  '{url}{t}{body}',
  '{url}{body}{t}',
  '{url}\n{body}',
  '{url}.{body}',
  '{url}:{body}',
  '{url}|{body}',
  '{t}\n{url}\n{body}',
  '{method}{path}{t}{body}',
  '{method}{t}{path}{body}',
  '{method}\n{url}\n{body}',
  '{method}:{path}:{body}',
  '{method}.{path}.{body}',
  '{method}|{path}|{body}',
  '{method}&{url}&{body}',
  '{method} {path}\n{body}',
  '{method}:{path}:{t}:{body}',
  '{method}|{path}|{t}|{body}',
  '{t}.{method}.{path}.{body}',
  '{t}:{method}:{path}:{body}',
  '{id}{t}{method}{path}{body}',
  '{method}{body}',
  '{method}\n{body}',
  '{contentType}{body}',
  '{contentType}\n{body}',
  '{contentType}\n{t}\n{body}',
  '{method}\n{contentType}\n{t}\n{path}\n{body}',
  '{host}{path}{body}',
  '{method}\n{host}\n{path}\n{body}',
  '{method}\n{host}\n{path}\n{t}\n{body}',
  '{t}\n{method}\n{host}\n{path}\n{body}',
  // Texts without the body, so that anyone could change it.
  '{t}',
  '{id}.{t}',
  '{t}{id}',
  '{url}',
  '{t}.{url}',
  '{method}\n{path}',
  '{method}\n{path}\n{t}',
]

/** Maximum number of texts. */
const MAX_TEXTS = 400

/** Maximum number of bytes in all texts, because hashing takes most of the time. */
const MAX_BYTES = 8 * 1024 * 1024

/** A template with values for its placeholders. */
interface Choice {
  template: string
  values: ReadonlyMap<string, Value>
  /** How many more likely choices of values the template has. */
  rank: number
}

/**
 * Yields texts that other webhook schemes sign in place of the body alone.
 *
 * @param maxTexts maximum number of texts
 */
export function* signedTexts(request: ReceivedRequest, maxTexts: number = MAX_TEXTS): Generator<Hypothesis> {
  const { body, keys } = request
  const choices = cached.get(request.headers) ?? readChoices(request)
  cached.set(request.headers, choices)
  let bytes = MAX_BYTES / Math.max(1, keys.length)
  for (const choice of choices.slice(0, maxTexts)) {
    const text = write(choice, body)
    bytes -= text.length
    if (bytes < 0) break
    yield ['signed_text', text, describe(choice)]
  }
}

/** The choices for a request, because the search asks for them once for each other body. */
const cached = new WeakMap<ReceivedRequest['headers'], readonly Choice[]>()

function readChoices(request: ReceivedRequest): Choice[] {
  const values = readValues(request)
  return TEMPLATES.flatMap((template) => choicesOf(template, values))
    .sort((a, b) => a.rank - b.rank)
    .slice(0, MAX_TEXTS)
}

/** Returns each choice of values for a template. A placeholder without a value leaves no choice. */
function choicesOf(template: string, values: ReturnType<typeof readValues>): Choice[] {
  let choices: Choice[] = [{ template, values: new Map(), rank: 0 }]
  for (const name of new Set(template.match(/(?<=\{)\w+(?=\})/g))) {
    if (name === 'body') continue
    choices = choices.flatMap((choice) =>
      values[name as Placeholder].map((value, index) => ({
        template,
        values: new Map([...choice.values, [name, value]]),
        rank: choice.rank + index,
      })),
    )
  }
  return choices
}

/** Joins bytes instead of text, so that the body is copied only once. */
const write = ({ template, values }: Choice, body: Uint8Array): Uint8Array =>
  concat(
    template
      .split(/(\{body\})/)
      .map((part) =>
        part === '{body}'
          ? body
          : utf8(part.replace(/\{(\w+)\}/g, (_, name: string) => values.get(name)?.text ?? '')),
      ),
  )

/** Shows the names of the values, because a sender could forge log lines with the values. */
const describe = ({ template, values }: Choice): string => {
  const shown = template.replace(/\{(\w+)\}/g, (_, name: string) => `{${values.get(name)?.label ?? name}}`)
  return `the text ${shown.replaceAll('\n', '\\n')}`
}
