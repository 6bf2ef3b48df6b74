// For programs that listen on every address of the machine: with this they listen on the loopback only, on a port that
// the system picks, and say which.
import { Server } from 'node:net'

const { listen } = Server.prototype
Server.prototype.listen = function listenHere(_port, ...rest) {
  this.once('listening', () => console.log(`listening on http://127.0.0.1:${this.address().port}/`))
  return listen.call(this, 0, '127.0.0.1', ...rest)
}
