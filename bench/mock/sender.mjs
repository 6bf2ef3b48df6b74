// Runs a sender in a separate process: the mock service, or an alternative that sends the same requests.
import { SENDERS } from './senders.mjs'

const [name, url] = process.argv.slice(2)
const AT_ONCE = 50
let send

process.on('message', async (question) => {
  if (question.request) send = await SENDERS[name](url, question.request, AT_ONCE)
  const [started, used] = [performance.now(), process.cpuUsage()]
  if (question.count) await send(question.count)
  const { user, system } = process.cpuUsage(used)
  process.send({ milliseconds: performance.now() - started, microsecondsUsed: user + system })
})
process.send('ready')
