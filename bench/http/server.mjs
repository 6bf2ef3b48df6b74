// Runs one server under test: `server.mjs <file in servers/> <function in that file>`. Sends its port when it is
// ready, and replies to each message with the CPU time it has used and the number of events it has handled.
import { KEY } from '../lib/payloads.mjs'

const [file, name] = process.argv.slice(2)
const { [name]: create } = await import(`./servers/${file}.mjs`)
let handled = 0
const server = await create({
  key: KEY,
  handle() {
    handled++
  },
})
process.on('message', () => {
  const { user, system } = process.cpuUsage()
  process.send({ cpu: user + system, handled })
})
process.on('disconnect', () => process.exit())
server.listen(0, '127.0.0.1', () => process.send(server.address().port))
