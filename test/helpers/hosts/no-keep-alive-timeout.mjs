// Import this before a server. Idle connections then never time out, so the process exits only if the shutdown closes
// them.
import { Server } from 'node:net'

const { listen } = Server.prototype
Server.prototype.listen = function listenWithoutTimeout(...args) {
  if ('keepAliveTimeout' in this) this.keepAliveTimeout = 0
  return listen.apply(this, args)
}
