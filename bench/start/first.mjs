// Prints the milliseconds to import a package and verify a first signature in a new process.
import { writeSync } from 'node:fs'

const [name, body, signature, key] = process.argv.slice(2)

const FIRST = {
  geohook: ({ verify }) => verify({ body, signature, signatureKey: key }).then(({ ok }) => ok),
  '@octokit/webhooks-methods': ({ verify }) => verify(key, body, signature),
  '@octokit/webhooks': ({ Webhooks }) => new Webhooks({ secret: key }).verify(body, signature),
  'node:crypto': ({ createHmac, timingSafeEqual }) =>
    timingSafeEqual(
      Buffer.from(signature.slice('sha256='.length), 'hex'),
      createHmac('sha256', key).update(body).digest(),
    ),
}

const started = performance.now()
if (!(await FIRST[name](await import(name)))) throw new Error(`${name} rejects a right signature`)
writeSync(1, String(performance.now() - started))
process.exit()
