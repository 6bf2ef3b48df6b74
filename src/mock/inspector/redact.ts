import { createRedactor, type Redactor } from '../../shared/redact.ts'
import type { Mock } from '../service.ts'
import { signatureNameOf } from './signed.ts'

/** The last redactor of each mock and its keys: with thousands of webhooks, making one for every row would be slow. */
const last = new WeakMap<Mock, { keys: ReadonlySet<string>; redactor: Redactor }>()

/** Hides the keys of all webhooks, and those of the deliveries, whose webhooks may have been edited or deleted. */
export function redactAll(mock: Mock): Redactor {
  const keys = new Set([
    ...mock.state.webhooks.list().map(({ signatureKey }) => signatureKey),
    ...mock.engine.records.list().map(({ webhook }) => webhook.signatureKey),
  ])
  const known = last.get(mock)
  if (known && isSame(known.keys, keys)) return known.redactor
  const redactor = createRedactor([...keys], { signatureHeader: signatureNameOf(mock) })
  last.set(mock, { keys, redactor })
  return redactor
}

const isSame = (a: ReadonlySet<string>, b: ReadonlySet<string>): boolean =>
  a.size === b.size && [...a].every((key) => b.has(key))
