// Prints the milliseconds to import a module in a new process: `load.mjs <module> [<body> <signature> <key>]`. With a
// body, also verifies its signature.
import { writeSync } from 'node:fs'

const [name, body, signature, key] = process.argv.slice(2)

const FIRST = {
  geohook: ({ verify }) => verify({ body, signature, signatureKey: key }).then(({ ok }) => ok),
  '@octokit/webhooks': ({ Webhooks }) => new Webhooks({ secret: key }).verify(body, signature),
  'node:crypto': ({ createHmac, timingSafeEqual }) =>
    timingSafeEqual(
      Buffer.from(signature.slice('sha256='.length), 'hex'),
      createHmac('sha256', key).update(body).digest(),
    ),
}

const started = performance.now()
const module = await import(name)
if (body !== undefined && !(await FIRST[name](module))) throw new Error(`${name} rejects a right signature`)
writeSync(1, String(performance.now() - started))
process.exit()
