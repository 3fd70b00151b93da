/**
 * A network of their own for the end-to-end tests: browsers find WebRTC addresses on a pair of virtual interfaces,
 * and nothing that the machine's network does or lacks can change a result. Linux, as root.
 */
import { spawnSync } from 'node:child_process';

/** Without a default route browsers gather no candidates; nothing answers at its address. */
const setUp = `
ip link set lo up &&
ip link add v0 type veth peer name v1 &&
ip addr add 10.88.0.1/24 dev v0 &&
ip link set v0 up && ip link set v1 up &&
ip route add default via 10.88.0.254 dev v0 &&
exec "$@"`;

/** What to put before a command so that it runs in such a network; nothing where this machine cannot make one. */
export function isolatedNetworkPrefix(): readonly string[] {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return [];
  const prefix = ['unshare', '-n', 'bash', '-c', setUp, '_'] as const;
  const { status } = spawnSync(prefix[0], [...prefix.slice(1), 'true'], { stdio: 'ignore' });
  return status === 0 ? prefix : [];
}
