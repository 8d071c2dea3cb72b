package suite_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/internal/fixture"
	"github.com/crdeval/crdeval/engine/suite"
)

// solvable are common rules, with the schema of self. Each has a valid object.
var solvable = []struct{ schema, rule string }{
	// versions
	{`{v: {type: string, maxLength: 30}}`, `semver(self.v).isGreaterThan(semver('1.2.3'))`},
	{`{v: {type: string, maxLength: 30}}`, `isSemver(self.v) && semver(self.v).major() == 4 && semver(self.v).minor() >= 7`},
	{`{v: {type: string, maxLength: 30}}`, `semver(self.v).compareTo(semver('3.0.0')) >= 0 && semver(self.v).isLessThan(semver('4.0.0'))`},
	{`{lo: {type: string, maxLength: 30}, hi: {type: string, maxLength: 30}}`, `semver(self.lo).isLessThan(semver(self.hi)) && semver(self.lo).isGreaterThan(semver('2.9.9'))`},
	{`{v: {type: string, maxLength: 30}}`, `isSemver(self.v, true) && semver(self.v, true).major() == 2`},
	// quantities
	{`{q: {type: string, maxLength: 20}}`, `quantity(self.q).isGreaterThan(quantity('10Gi'))`},
	{`{q: {x-kubernetes-int-or-string: true, maxLength: 20}}`, `quantity(string(self.q)).compareTo(quantity('3')) > 0 && quantity(string(self.q)).compareTo(quantity('4')) < 0`},
	{`{q: {type: string, maxLength: 20}}`, `isQuantity(self.q) && quantity(self.q).isInteger() && quantity(self.q).asInteger() % 512 == 0 && sign(quantity(self.q)) == 1`},
	{`{req: {type: string, maxLength: 20}, lim: {type: string, maxLength: 20}}`, `quantity(self.req).add(quantity('1Gi')).compareTo(quantity(self.lim)) <= 0 && quantity(self.req).isGreaterThan(quantity('2Gi'))`},
	{`{min: {x-kubernetes-int-or-string: true, maxLength: 12}, max: {x-kubernetes-int-or-string: true, maxLength: 12}}`, `quantity(string(self.min)).isLessThan(quantity(string(self.max)))`},
	{`{q: {type: string, maxLength: 20}}`, `quantity(self.q).asApproximateFloat() > 2.5 && quantity(self.q).asApproximateFloat() < 2.75`},
	// times
	{`{t: {type: string, format: date-time, maxLength: 40}}`, `timestamp(self.t) > timestamp('2030-01-01T00:00:00Z')`},
	{`{t: {type: string, maxLength: 40}}`, `timestamp(self.t) > timestamp('2030-01-01T00:00:00Z') && timestamp(self.t).getFullYear() == 2033`},
	{`{from: {type: string, format: date-time, maxLength: 40}, to: {type: string, format: date-time, maxLength: 40}}`, `timestamp(self.to) - timestamp(self.from) > duration('24h') && self.to - self.from < duration('48h')`},
	{`{t: {type: string, format: date-time}}`, `self.t.getDayOfWeek() == 1 && self.t.getHours() == 3`},
	{`{d: {type: string, maxLength: 20}}`, `duration(self.d) >= duration('90m') && duration(self.d) < duration('2h')`},
	{`{a: {type: string, format: duration}, b: {type: string, format: duration}}`, `self.a > self.b && self.b > duration('7m')`},
	{`{d: {type: string, maxLength: 20}}`, `duration(self.d).getSeconds() % 300 == 0 && duration(self.d) > duration('1s')`},
	{`{d: {type: string, maxLength: 20}}`, `self.d.matches('^[0-9]+h$') && duration(self.d).getHours() == 72`},
	// strings
	{`{s: {type: string, maxLength: 63}}`, `!format.dns1123Label().validate(self.s).hasValue() && self.s.startsWith('team-')`},
	{`{s: {type: string, maxLength: 63}}`, `self.s.startsWith('team-') && self.s.endsWith('-prod') && size(self.s) == 17`},
	{`{s: {type: string, maxLength: 63}}`, `self.s.split('.').size() == 4`},
	{`{s: {type: string, maxLength: 63}}`, `self.s.split('/').size() == 2 && self.s.split('/')[0] == 'apps' && self.s.split('/')[1].matches('^v[1-9]$')`},
	{`{s: {type: string, maxLength: 63}}`, `self.s.split(',').all(x, x.startsWith('p') && x.size() == 3) && self.s.split(',').size() > 2`},
	{`{s: {type: string, maxLength: 63}}`, `int(self.s) % 7 == 0 && int(self.s) > 100`},
	{`{s: {type: string, maxLength: 63}}`, `self.s.matches('^[a-z]{3}-[0-9]{4}$') && self.s.startsWith('abc')`},
	{`{s: {type: string, maxLength: 63}}`, `self.s.indexOf('-') == 3 && self.s.lastIndexOf('-') == 7`},
	{`{s: {type: string, maxLength: 63}}`, `self.s.substring(0, 3) == 'abc' && self.s.substring(3).size() == 5`},
	{`{s: {type: string, maxLength: 63}}`, `self.s.lowerAscii() == 'hello' && self.s != 'hello'`},
	{`{s: {type: string, maxLength: 63}}`, `self.s == self.s.lowerAscii() && self.s.contains('-x-') && !self.s.endsWith('-')`},
	{`{s: {type: string, maxLength: 63}}`, `self.s.find('[0-9]+') == '4711' && self.s.size() > 8`},
	{`{s: {type: string, maxLength: 63}}`, `self.s.findAll('[0-9]+').size() == 3`},
	{`{s: {type: string, maxLength: 63}}`, `self.s.replace('-', '') == 'abc' && self.s.contains('-')`},
	{`{s: {type: string, format: byte, maxLength: 63}}`, `self.s == b'secret'`},
	{`{s: {type: string, format: byte, maxLength: 63}}`, `string(self.s).startsWith('key=') && size(self.s) == 8`},
	{`{a: {type: string, maxLength: 20}, b: {type: string, maxLength: 20}, c: {type: string, maxLength: 60}}`, `self.c == self.a + '.' + self.b && self.a.size() > 2`},
	{`{a: {type: string, maxLength: 20}, c: {type: string, maxLength: 60}}`, `self.c.startsWith(self.a + '/') && self.a.matches('^[a-z]+\\.io$')`},
	{`{s: {type: string, maxLength: 63}}`, `self.s.trim() == self.s && self.s.charAt(0) == '#' && self.s.size() == 7`},
	{`{s: {type: string, maxLength: 63}}`, `self.s.upperAscii() == 'CBA'`},
	{`{s: {type: string, maxLength: 253}}`, `!format.dns1123Subdomain().validate(self.s).hasValue() && self.s.endsWith('.svc.cluster.local')`},
	{`{s: {type: string, maxLength: 253}}`, `!format.named('qualifiedName').value().validate(self.s).hasValue() && self.s.contains('/')`},
	{`{s: {type: string, maxLength: 63, pattern: '^[a-z0-9-]+$'}}`, `self.s.startsWith('a-') && self.s.size() >= 12 && !self.s.endsWith('-')`},
	// addresses
	{`{ip: {type: string, maxLength: 40}}`, `isIP(self.ip) && ip(self.ip).family() == 6 && !ip(self.ip).isLoopback()`},
	{`{ip: {type: string, maxLength: 40}}`, `cidr('172.20.0.0/16').containsIP(self.ip)`},
	{`{ip: {type: string, maxLength: 40}, net: {type: string, maxLength: 40}}`, `isCIDR(self.net) && cidr(self.net).containsIP(ip(self.ip)) && cidr(self.net).prefixLength() >= 20`},
	{`{net: {type: string, maxLength: 40}}`, `cidr(self.net).prefixLength() == 27 && cidr(self.net) == cidr(self.net).masked()`},
	{`{net: {type: string, maxLength: 40}}`, `cidr('10.0.0.0/8').containsCIDR(self.net) && cidr(self.net).prefixLength() > 8`},
	{`{url: {type: string, maxLength: 100}}`, `isURL(self.url) && url(self.url).getScheme() == 'https' && url(self.url).getHost().endsWith('.example.org:8443')`},
	{`{url: {type: string, maxLength: 100}}`, `url(self.url).getHostname() == 'api.example.com' && url(self.url).getPort() == '6443' && url(self.url).getEscapedPath().startsWith('/v1')`},
	{`{url: {type: string, maxLength: 100}}`, `url(self.url).getQuery()['mode'] == ['full']`},
	// numbers
	{`{num: {type: integer}}`, `self.num % 7 == 0 && self.num > 1000`},
	{`{a: {type: integer}, b: {type: integer}, c: {type: integer}}`, `self.a + self.b == self.c && self.a > 3 && self.b > self.a`},
	{`{a: {type: integer}, b: {type: integer}}`, `self.a * 3 == self.b && self.b > 20`},
	{`{a: {type: number}}`, `self.a > 0.25 && self.a < 0.5`},
	{`{type: {type: string, enum: [Fixed, Percent]}, weight: {type: integer, minimum: 1, maximum: 1000}}`, `(self.type != 'Percent' || self.weight <= 100) && (self.type != 'Fixed' || self.weight % 50 == 0 && self.weight > 100)`},
	{`{p: {x-kubernetes-int-or-string: true, maxLength: 10}}`, `type(self.p) == string ? self.p.endsWith('%') && int(self.p.replace('%', '')) <= 100 && int(self.p.replace('%', '')) > 50 : self.p == 0`},
	{`{p: {x-kubernetes-int-or-string: true, maxLength: 10}}`, `type(self.p) == int && self.p >= 8000 && self.p < 8100`},
	// lists and maps
	{`{l: {type: array, maxItems: 9, items: {type: integer}}}`, `self.l.sum() == 100 && self.l.size() == 3`},
	{`{l: {type: array, maxItems: 9, items: {type: object, required: [w], properties: {w: {type: integer, minimum: 1}}}}}`, `self.l.map(x, x.w).sum() == 100 && self.l.size() >= 2`},
	{`{l: {type: array, maxItems: 9, minItems: 3, items: {type: integer}}}`, `self.l.isSorted() && self.l.min() > 10 && self.l.max() < 20`},
	{`{l: {type: array, maxItems: 9, minItems: 3, items: {type: string, maxLength: 9}}}`, `self.l.all(x, self.l.exists_one(y, x == y))`},
	{`{l: {type: array, maxItems: 9, minItems: 3, items: {type: string, maxLength: 9}}}`, `self.l.distinct().size() == self.l.size() && 'web' in self.l`},
	{`{l: {type: array, maxItems: 9, items: {type: object, required: [name], properties: {name: {type: string, maxLength: 9}, p: {type: integer}}}}}`, `self.l.exists_one(x, x.name == 'default') && self.l.filter(x, has(x.p) && x.p > 1024).size() == 2`},
	{`{l: {type: array, maxItems: 9, minItems: 2, items: {type: string, maxLength: 9}}}`, `self.l[0] == 'first' && self.l.indexOf('last') == self.l.size() - 1`},
	{`{l: {type: array, maxItems: 9, items: {type: string, maxLength: 9}}, s: {type: string, maxLength: 90}}`, `self.l.join('-') == self.s && self.l.size() == 3`},
	{`{l: {type: array, maxItems: 5, items: {type: array, maxItems: 5, items: {type: integer}}}}`, `self.l.flatten().size() == 4`},
	{`{m: {type: object, maxProperties: 9, additionalProperties: {type: string, maxLength: 20}}}`, `self.m.all(k, k.startsWith('app.example.com/')) && self.m.size() == 2`},
	{`{m: {type: object, maxProperties: 9, additionalProperties: {type: string, maxLength: 20}}}`, `'app' in self.m && self.m['app'] == 'web' && self.m.exists(k, k.endsWith('-id') && self.m[k].size() == 4)`},
	{`{m: {type: object, maxProperties: 9, additionalProperties: {type: integer}}}`, `self.m.all(k, v, v > 3 && k.size() > 4) && self.m.size() > 1`},
	{`{m: {type: object, maxProperties: 9, additionalProperties: {type: integer}}, l: {type: array, maxItems: 9, items: {type: string, maxLength: 9}}}`, `self.l.size() == 2 && self.l.all(x, x in self.m) && self.m.size() == 2`},
	{`{a: {type: array, maxItems: 9, items: {type: string, maxLength: 9}}, b: {type: array, maxItems: 9, items: {type: string, maxLength: 9}}}`, `sets.contains(self.a, self.b) && self.b.size() == 2 && !sets.equivalent(self.a, self.b)`},
	// presence
	{`{o: {type: object, properties: {a: {type: string}, b: {type: string}, c: {type: string}}}}`, `[has(self.o.a), has(self.o.b), has(self.o.c)].filter(x, x).size() == 2 && has(self.o.a) == has(self.o.b)`},
	{`{o: {type: object, properties: {x: {type: object, properties: {why: {type: object, properties: {z: {type: string, maxLength: 9}}}}}}}}`, `has(self.o.x) && has(self.o.x.why) && has(self.o.x.why.z) && self.o.x.why.z == 'deep'`},
	{`{o: {type: object, properties: {x: {type: object, properties: {why: {type: string, maxLength: 9}}}}}}`, `self.o.?x.?why.orValue('none') == 'deep'`},
	{`{o: {type: object, properties: {x: {type: string, maxLength: 9}}}}`, `self.o.?x.hasValue() && self.o.?x.value().size() == 5`},
	{`{mode: {type: string, enum: [A, B, C]}, a: {type: object, properties: {num: {type: integer}}}, k: {type: integer}}`, `self.mode == 'B' ? has(self.a.num) && self.a.num == self.k : self.mode == 'C' && self.k == 77`},
	{`{parents: {type: array, minItems: 2, maxItems: 8, items: {type: object, required: [name], properties: {name: {type: string, minLength: 1, maxLength: 20}, section: {type: string, maxLength: 20}}}}, label: {type: string, maxLength: 20}}`,
		`self.parents.all(p, self.parents.exists_one(q, q.name == p.name && (has(q.section) ? q.section : '') == (has(p.section) ? p.section : ''))) && self.parents.exists(p, p.name == self.label)`},
	{`{l: {type: array, maxItems: 5, minItems: 3, items: {type: object, required: [w], properties: {w: {type: integer}}}}}`, `self.l.sortBy(x, x.w).map(x, x.w) == self.l.map(x, x.w) && self.l[0].w > 3`},
	// combinations
	{`{v: {type: string, maxLength: 30}}`, `!semver(self.v).isLessThan(semver('1.25.0')) && semver(self.v).patch() % 2 == 1`},
	{`{v: {type: string, maxLength: 30, pattern: '^v[0-9]+\.[0-9]+\.[0-9]+$'}}`, `semver(self.v.substring(1)).isGreaterThan(semver('1.20.0'))`},
	{`{v: {type: string, maxLength: 30, pattern: '^v'}}`, `semver(self.v, true).isGreaterThan(semver('1.20.0'))`},
	{`{q: {type: string, maxLength: 20, pattern: '^[0-9]+(Mi|Gi)$'}}`, `quantity(self.q).compareTo(quantity('20Gi')) >= 0 && quantity(self.q).compareTo(quantity('30Gi')) <= 0`},
	{`{cpu: {x-kubernetes-int-or-string: true, maxLength: 20}, mem: {x-kubernetes-int-or-string: true, maxLength: 20}}`, `quantity(string(self.cpu)).isGreaterThan(quantity('250m')) && quantity(string(self.mem)).isGreaterThan(quantity('64Mi')) && quantity(string(self.cpu)).isLessThan(quantity('2'))`},
	{`{lims: {type: object, maxProperties: 5, additionalProperties: {x-kubernetes-int-or-string: true, maxLength: 20}}}`, `'memory' in self.lims && quantity(string(self.lims['memory'])).isGreaterThan(quantity('10Gi')) && self.lims.all(k, k in ['cpu', 'memory'])`},
	{`{start: {type: string, format: date-time}, end: {type: string, format: date-time}}`, `self.end >= self.start + duration('720h') && self.start.getFullYear() >= 2040`},
	{`{start: {type: string, maxLength: 40}, ttl: {type: string, maxLength: 20}}`, `timestamp(self.start) + duration(self.ttl) < timestamp('2025-01-01T00:00:00Z') && duration(self.ttl) > duration('5m')`},
	{`{s: {type: string, maxLength: 40}}`, `self.s.matches('^[0-9]{4}-[0-9]{2}-[0-9]{2}$') && timestamp(self.s + 'T00:00:00Z') > timestamp('2032-06-01T00:00:00Z')`},
	{`{d: {type: string, format: date}}`, `self.d.getFullYear() > 2030 && self.d.getMonth() == 1`},
	{`{d: {type: string, format: date}}`, `timestamp(self.d) > timestamp('2035-01-01T00:00:00Z')`},
	{`{s: {type: string, maxLength: 63}}`, `self.s.startsWith('arn:aws:iam::') && self.s.split(':').size() == 6 && self.s.split(':')[4].size() == 12 && self.s.split(':')[5].startsWith('role/')`},
	{`{s: {type: string, maxLength: 63}}`, `self.s.contains('@') && self.s.split('@')[1].endsWith('.com') && self.s.split('@')[0].size() > 5`},
	{`{s: {type: string, maxLength: 63}}`, `self.s.split(':').size() == 2 && int(self.s.split(':')[1]) >= 1024 && int(self.s.split(':')[1]) <= 65535 && isIP(self.s.split(':')[0])`},
	{`{s: {type: string, maxLength: 63, minLength: 10}}`, `!self.s.contains('a') && self.s.matches('^[a-z]+$')`},
	{`{s: {type: string, maxLength: 63}}`, `self.s.matches('^[a-z]+$') && self.s.matches('x$') && self.s.matches('^q') && self.s.size() == 9`},
	{`{s: {type: string, maxLength: 63}}`, `self.s.size() > 20 && self.s.upperAscii() == self.s && self.s.startsWith('KEY_')`},
	{`{s: {type: string, maxLength: 63}}`, `double(self.s) > 1.5 && double(self.s) < 1.75`},
	{`{s: {type: string, maxLength: 63}}`, `self.s in ['alpha', 'beta'] || self.s.startsWith('custom-') && self.s.size() > 30`},
	{`{s: {type: string, maxLength: 63}}`, `self.s.lowerAscii().contains('error') && self.s.charAt(0) == 'E'`},
	{`{s: {type: string, maxLength: 63}}`, `self.s.find('v[0-9]+') == 'v42' && self.s.startsWith('release-')`},
	{`{s: {type: string, maxLength: 63}}`, `self.s.split('-').map(x, x.size()).all(n, n == 4) && self.s.split('-').size() == 3`},
	{`{s: {type: string, maxLength: 63}}`, `self.s.split(',').map(x, int(x)).sum() == 30 && self.s.split(',').size() == 3`},
	{`{a: {type: string, maxLength: 9}, b: {type: string, maxLength: 9}, s: {type: string, maxLength: 63}}`, `self.s == self.a + '/' + self.b && self.a != self.b && self.a.size() == 4 && self.b.size() == 4`},
	{`{a: {type: string, maxLength: 30}, b: {type: string, maxLength: 30}}`, `self.a.endsWith(self.b) && self.b.size() >= 4 && self.a.size() > self.b.size()`},
	{`{ip: {type: string, maxLength: 40}}`, `ip(self.ip).isLinkLocalUnicast() && ip(self.ip).family() == 4`},
	{`{ip: {type: string, maxLength: 40}}`, `ip(self.ip).isGlobalUnicast() && !cidr('10.0.0.0/8').containsIP(self.ip) && ip(self.ip).family() == 4 && ip.isCanonical(self.ip)`},
	{`{pod: {type: string, maxLength: 40}, svc: {type: string, maxLength: 40}}`, `!cidr(self.pod).containsCIDR(cidr(self.svc)) && !cidr(self.svc).containsCIDR(cidr(self.pod)) && cidr(self.pod).ip().family() == cidr(self.svc).ip().family()`},
	{`{nets: {type: array, minItems: 2, maxItems: 4, items: {type: string, maxLength: 40}}}`, `self.nets.all(n, isCIDR(n)) && self.nets.exists(n, cidr(n).ip().family() == 6) && self.nets.exists(n, cidr(n).ip().family() == 4)`},
	{`{url: {type: string, maxLength: 100}}`, `url(self.url).getScheme() in ['s3', 'gs'] && url(self.url).getHostname().size() > 5 && url(self.url).getPort() == ''`},
	{`{url: {type: string, maxLength: 100, pattern: '^https://'}}`, `url(self.url).getEscapedPath() == '/healthz' && url(self.url).getQuery().size() == 0`},
	{`{url: {type: string, maxLength: 100}}`, `isURL(self.url) ? url(self.url).getScheme() == 'https' && url(self.url).getEscapedPath() != '' : false`},
	{`{num: {type: integer, minimum: 1}}`, `[3, 5, 7].all(p, self.num % p == 0)`},
	{`{num: {type: integer}}`, `self.num > 1000000 && self.num % 1000 == 1`},
	{`{min: {type: integer}, des: {type: integer}, max: {type: integer}}`, `self.min <= self.des && self.des <= self.max && self.min > 2 && self.max < 9 && self.min != self.max`},
	{`{w: {type: array, minItems: 3, maxItems: 3, items: {type: integer, minimum: 0, maximum: 100}}}`, `self.w.sum() == 100 && self.w.all(x, x > 10)`},
	{`{l: {type: array, maxItems: 9, items: {type: object, required: [name, from, to], properties: {name: {type: string, maxLength: 9}, from: {type: integer}, to: {type: integer}}}}}`, `self.l.size() == 3 && self.l.all(r, r.from < r.to) && self.l.map(r, r.from).isSorted() && self.l.all(r, self.l.filter(q, q.name == r.name).size() == 1)`},
	{`{l: {type: array, maxItems: 9, items: {type: object, required: [type, status], properties: {type: {type: string, maxLength: 19}, status: {type: string, enum: ['True', 'False']}}}}}`, `self.l.exists(c, c.type == 'Ready' && c.status == 'True') && !self.l.exists(c, c.type == 'Failed')`},
	{`{def: {type: string, maxLength: 9}, l: {type: array, maxItems: 9, minItems: 2, items: {type: object, required: [name], properties: {name: {type: string, maxLength: 9}}}}}`, `self.def in self.l.map(x, x.name) && self.l.map(x, x.name).distinct().size() == self.l.size()`},
	{`{m: {type: object, maxProperties: 9, additionalProperties: {type: string, maxLength: 40}}}`, `self.m.size() >= 2 && self.m.all(k, self.m[k] == k + '-value')`},
	{`{m: {type: object, maxProperties: 9, additionalProperties: {type: string, maxLength: 40}}}`, `self.m.map(k, int(self.m[k])).sum() == 12 && self.m.size() == 2`},
	{`{m: {type: object, maxProperties: 9, additionalProperties: {type: object, properties: {ok: {type: boolean}}}}}`, `self.m.exists_one(k, has(self.m[k].ok) && self.m[k].ok) && self.m.size() == 3`},
	{`{a: {type: string, maxLength: 9}, aRef: {type: object, properties: {name: {type: string, maxLength: 9}, kind: {type: string, maxLength: 9}}}}`, `has(self.aRef.name) && (!has(self.aRef.kind) || self.aRef.kind == 'Secret') && self.aRef.name == self.a && self.a.matches('^[b-f]{5}$')`},
	{`{strategy: {type: object, required: [type], properties: {type: {type: string, enum: [Recreate, Rolling]}, rolling: {type: object, required: [maxSurge, maxUnavailable], properties: {maxSurge: {x-kubernetes-int-or-string: true, maxLength: 9}, maxUnavailable: {x-kubernetes-int-or-string: true, maxLength: 9}}}}}}`, `self.strategy.type == 'Rolling' && has(self.strategy.rolling) && !(string(self.strategy.rolling.maxSurge) in ['0', '0%'] && string(self.strategy.rolling.maxUnavailable) in ['0', '0%']) && (type(self.strategy.rolling.maxSurge) == int || self.strategy.rolling.maxSurge.matches('^[0-9]+%$'))`},
	{`{l: {type: array, maxItems: 9, items: {type: string, maxLength: 9}}}`, `self.l == ['a', 'b', 'c']`},
	{`{l: {type: array, maxItems: 9, items: {type: string, maxLength: 9}}}`, `self.l.slice(0, 2) == ['x', 'y'] && self.l.size() == 4`},
	{`{l: {type: array, maxItems: 9, items: {type: string, maxLength: 9}}}`, `self.l.reverse()[0] == 'last' && self.l.isSorted() == false && self.l.size() == 3`},
	{`{a: {type: array, maxItems: 5, items: {type: integer}}, b: {type: array, maxItems: 5, items: {type: integer}}}`, `self.a.size() == self.b.size() && self.a.all(x, x in self.b) && self.a.sum() > 50 && self.a.size() == 2`},
	{`{a: {type: array, maxItems: 5, items: {type: string, maxLength: 9}}, b: {type: array, maxItems: 5, items: {type: string, maxLength: 9}}}`, `sets.intersects(self.a, self.b) && !sets.contains(self.a, self.b) && self.a.size() == 2`},
	{`{l: {type: array, maxItems: 9, items: {type: integer}}}`, `lists.range(3).all(i, self.l[i] == i * 10)`},
	{`{b: {type: boolean}, s: {type: string, maxLength: 10}}`, `self.b == (self.s == 'on') && self.b`},
	{`{s: {type: string, maxLength: 63}}`, `self.s.replace('.', '').size() == self.s.size() - 3 && self.s.size() == 10`},
	{`{s: {type: string, maxLength: 63}}`, `!format.dns1035Label().validate(self.s).hasValue() && self.s.size() == 63`},
	{`{s: {type: string, maxLength: 63}}`, `!format.uuid().validate(self.s).hasValue() && self.s.startsWith('c0ffee')`},
	{`{s: {type: string, format: uuid}}`, `self.s.startsWith('abcd')`},
	{`{s: {type: string, maxLength: 63}}`, `!format.labelValue().validate(self.s).hasValue() && self.s.contains('_') && self.s.contains('.')`},
	{`{s: {type: string, maxLength: 20}}`, `self.s.matches(r'^\d{1,3}(\.\d{1,3}){3}:\d+$') && int(self.s.split(':')[1]) % 5 == 0`},
	{`{a: {type: object, properties: {x: {type: string, maxLength: 9}}}, b: {type: object, properties: {x: {type: string, maxLength: 9}}}}`, `has(self.a.x) != has(self.b.x) && self.a.?x.orValue('q') == 'zzz'`},
	{`{s: {type: string, maxLength: 30}}`, `self.s.indexOf('=') > 4 && self.s.substring(self.s.indexOf('=') + 1) == 'true'`},
	{`{s: {type: string, maxLength: 300}}`, `size(self.s) >= 100 && size(self.s) <= 120 && self.s.split(' ').size() == 5`},
	{`{u: {type: integer, format: int64}}`, `uint(self.u) > 10u && double(self.u) / 3.0 == 5.0`},
	{`{h: {type: string, maxLength: 60, format: hostname}}`, `self.h.endsWith('.corp.internal') && self.h.split('.').size() == 4`},
	{`{e: {type: string, maxLength: 60, format: email}}`, `self.e.endsWith('@corp.example')`},
	// rules of several values, and rules whose conditions depend on each other
	{`{s: {type: string, maxLength: 20, x-kubernetes-validations: [{rule: "int(self) % 7 == 0"}, {rule: "int(self) > 50"}]}}`, `true`},
	{`{s: {type: string, maxLength: 20, x-kubernetes-validations: [{rule: "quantity(self).isGreaterThan(quantity('10Gi'))"}, {rule: "quantity(self).isLessThan(quantity('12Gi'))"}]}}`, `true`},
	{`{l: {type: array, minItems: 3, maxItems: 5, items: {type: string, maxLength: 20, x-kubernetes-validations: [{rule: "self.startsWith('x-') && self.size() > 6"}]}, x-kubernetes-list-type: set}}`, `self.l.all(x, !x.endsWith('a'))`},
	{`{m: {type: object, minProperties: 2, maxProperties: 4, additionalProperties: {type: string, maxLength: 20, x-kubernetes-validations: [{rule: "duration(self) > duration('36h')"}]}}}`, `self.m.all(k, k.matches('^[a-z]+[.]io/[a-z]+$'))`},
	{`{t: {type: string, format: date-time, x-kubernetes-validations: [{rule: "self > timestamp('2030-01-01T00:00:00Z')"}]}}`, `self.t < timestamp('2030-01-02T00:00:00Z')`},
	{`{t: {type: string, maxLength: 40}}`, `timestamp(self.t).getMonth() == 11 && timestamp(self.t).getDate() == 24 && timestamp(self.t).getFullYear() > 2035`},
	{`{a: {type: string, maxLength: 40}, b: {type: string, maxLength: 40}}`, `semver(self.a).major() == semver(self.b).major() && semver(self.a).minor() + 1 == semver(self.b).minor() && semver(self.a).major() > 2`},
	{`{s: {type: string, maxLength: 40}}`, `self.s.split('-')[2] == 'c' && self.s.split('-')[0] == 'a' && self.s.size() == 10`},
	{`{s: {type: string, maxLength: 40}}`, `self.s.substring(self.s.size() - 4) == '.txt' && self.s.size() == 12`},
	{`{s: {type: string, maxLength: 40}}`, `self.s.substring(2, 5).upperAscii() == 'XYZ' && self.s.startsWith('a')`},
	{`{s: {type: string, maxLength: 40}}`, `self.s.find('[A-Z]{2}[0-9]{4}') != '' && self.s.find('[A-Z]{2}[0-9]{4}') == self.s`},
	{`{s: {type: string, maxLength: 40}}`, `self.s.findAll('[a-z]+:[0-9]+', 3) == ['a:1', 'b:2']`},
	{`{s: {type: string, maxLength: 40}}`, `self.s.trim().size() > 0 && self.s.trim().size() < self.s.size()`},
	{`{a: {type: array, maxItems: 5, items: {type: string, maxLength: 20}}}`, `self.a.map(x, x.size()).max() == 12 && self.a.map(x, x.size()).min() == 3`},
	{`{a: {type: array, maxItems: 5, items: {type: string, maxLength: 20}}}`, `self.a.all(x, isQuantity(x)) && self.a.map(x, quantity(x).asInteger()).sum() == 4096 && self.a.size() == 2`},
	{`{a: {type: array, maxItems: 5, items: {type: object, properties: {cpu: {type: string, maxLength: 9}}}}}`, `self.a.filter(x, has(x.cpu) && quantity(x.cpu).isGreaterThan(quantity('1500m'))).size() >= 2`},
	{`{a: {type: array, maxItems: 5, items: {type: string, maxLength: 20}}}`, `self.a.exists(x, x.contains('=')) && self.a.filter(x, x.contains('=')).all(x, x.split('=').size() == 2 && int(x.split('=')[1]) > 5)`},
	{`{o: {type: object, maxProperties: 9, additionalProperties: {type: array, maxItems: 4, items: {type: integer}}}}`, `'x' in self.o && self.o['x'].size() == 2 && self.o['x'][1] - self.o['x'][0] == 17`},
	{`{a: {type: object, properties: {b: {type: object, properties: {c: {type: integer}, d: {type: integer}}}}}}`, `has(self.a.b) && has(self.a.b.c) && has(self.a.b.d) && self.a.b.c * self.a.b.d == 91 && self.a.b.c > 1 && self.a.b.d > 1`},
	{`{url: {type: string, format: uri, maxLength: 100}}`, `url(self.url).getScheme() == 'ftp' && url(self.url).getEscapedPath().endsWith('.tar.gz')`},
	{`{url: {type: string, maxLength: 100}}`, `self.url.startsWith('postgres://') && url(self.url).getPort() == '5432' && url(self.url).getQuery()['sslmode'][0] == 'require'`},
	{`{c: {type: array, minItems: 2, maxItems: 2, items: {type: string, maxLength: 40}}}`, `self.c.all(x, isCIDR(x)) && cidr(self.c[0]).containsCIDR(self.c[1]) && self.c[0] != self.c[1]`},
	{`{ips: {type: array, minItems: 3, maxItems: 4, items: {type: string, maxLength: 40}}}`, `self.ips.all(x, isIP(x) && ip(x).family() == 4) && self.ips.all(x, self.ips.exists_one(y, x == y))`},
	{`{start: {type: string, maxLength: 40}, end: {type: string, maxLength: 40}}`, `ip(self.start).family() == 4 && cidr(self.start + '/24').containsIP(ip(self.end)) && self.start != self.end`},
	{`{b: {type: string, format: byte, maxLength: 100}}`, `self.b.size() == 32`},
	{`{x: {type: number}, z: {type: number}}`, `self.x + self.z == 1.0 && self.x > 0.2 && self.z > 0.2`},
	{`{x: {type: integer}, f: {type: number}}`, `double(self.x) / 100.0 == self.f && self.f > 0.5`},
	{`{days: {type: array, minItems: 1, maxItems: 7, items: {type: string, enum: [Mon, Tue, Wed, Thu, Fri]}}}`, `self.days.all(d, self.days.filter(e, e == d).size() == 1) && !('Mon' in self.days) && self.days.size() == 4`},
	{`{minA: {type: string, maxLength: 9}, maxA: {type: string, maxLength: 9}}`, `duration(self.maxA) - duration(self.minA) > duration('3h') && duration(self.minA) > duration('45m')`},
	{`{s: {type: string, maxLength: 9}}`, `self.s > 'm' && self.s < 'n' && self.s.size() == 6`},
	{`{s: {type: string, minLength: 1, maxLength: 63, pattern: '^[a-z]([-a-z0-9]*[a-z0-9])?$'}}`, `self.s.contains('-prod-') && self.s.size() % 5 == 0 && self.s.endsWith('9')`},
}

// TestSamplesOfRules: a valid object is found for each of the solvable rules.
func TestSamplesOfRules(t *testing.T) {
	for _, c := range solvable {
		d := ruleDefinition(t, c.schema, c.rule)
		for seed := range uint64(2) {
			s := samplesOf(t, d, suite.GenerateOptions{Valid: 1, Seed: seed})
			if len(s.Valid) == 0 {
				t.Errorf("seed %d: %s: no valid object: %s: %v", seed, c.rule, s.Closest, s.Unsatisfied)
			}
		}
	}
}

// TestSamplesOfRulesTogether: a valid object is found for a CRD with many rules that read the same fields.
func TestSamplesOfRulesTogether(t *testing.T) {
	d := ruleDefinition(t, `
min: {x-kubernetes-int-or-string: true, maxLength: 12}
max: {x-kubernetes-int-or-string: true, maxLength: 12}
win: {type: object, required: [from, to], properties: {from: {type: string, format: date-time, maxLength: 40}, to: {type: string, format: date-time, maxLength: 40}}}
url: {type: string, maxLength: 100}
ver: {type: string, maxLength: 30}
label: {type: string, maxLength: 63}
tls:
  type: object
  properties: {secret: {type: string, maxLength: 30}, cert: {type: string, maxLength: 30}, key: {type: string, maxLength: 30}}
  x-kubernetes-validations:
  - {rule: "[has(self.secret), has(self.cert)].filter(x, x).size() == 1"}
  - {rule: "has(self.cert) == has(self.key)"}
parents:
  type: array
  minItems: 2
  maxItems: 8
  items: {type: object, required: [name], properties: {name: {type: string, minLength: 1, maxLength: 20}, section: {type: string, maxLength: 20}}}
  x-kubernetes-validations:
  - {rule: "self.all(p, self.exists_one(q, q.name == p.name && (has(q.section) ? q.section : '') == (has(p.section) ? p.section : '')))"}
policy:
  type: object
  required: [type, weight]
  properties: {type: {type: string, enum: [Fixed, Percent]}, weight: {type: integer, minimum: 1, maximum: 1000}}
  x-kubernetes-validations:
  - {rule: "self.type != 'Percent' || self.weight <= 100"}
  - {rule: "self.type != 'Fixed' || self.weight % 50 == 0 && self.weight > 100"}
`, "quantity(string(self.min)).isLessThan(quantity(string(self.max)))", "timestamp(self.win.to) - timestamp(self.win.from) > duration('24h')",
		"isURL(self.url) && url(self.url).getScheme() == 'https' && url(self.url).getHost().endsWith('.example.org:8443')",
		"semver(self.ver).isGreaterThan(semver('1.2.3'))", "self.parents.exists(p, p.name == self.label)",
		"!format.dns1123Label().validate(self.label).hasValue() && self.label.startsWith('team-')")
	for seed := range uint64(4) {
		if s := samplesOf(t, d, suite.GenerateOptions{Valid: 3, Seed: seed}); len(s.Valid) != 3 {
			t.Errorf("seed %d: %d valid objects: %s: %v", seed, len(s.Valid), s.Closest, s.Unsatisfied)
		}
	}
}

// TestSamplesOfStatus: a status that is a subresource follows the rules of a write of the status.
func TestSamplesOfStatus(t *testing.T) {
	d, report, err := engine.Compile(t.Context(), engine.YAML([]byte(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: things, kind: Thing}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        x-kubernetes-validations:
        - rule: "!has(self.status) || has(self.spec) && has(self.spec.size) && self.status.ready <= self.spec.size"
        - rule: "!has(oldSelf.spec) || self.spec == oldSelf.spec"
        properties:
          spec: {type: object, properties: {size: {type: integer}}}
          status:
            type: object
            required: [path, at, ready]
            properties:
              path: {type: string}
              at: {type: string, format: date-time}
              ready: {type: integer}
              old: {type: string}
            x-kubernetes-validations:
            - rule: self.path.startsWith('spec.') && self.path.size() > 9
            - rule: self.at > timestamp('2031-01-01T00:00:00Z')
            - {rule: "oldSelf.hasValue() || self.?old.orValue('') == 'none'", optionalOldSelf: true}
`)), engine.Options{})
	if err != nil || d == nil {
		t.Fatal(err, report)
	}
	with := 0
	for seed := range uint64(4) {
		s := samplesOf(t, d, suite.GenerateOptions{Valid: 5, Seed: seed})
		if len(s.Valid) != 5 {
			t.Errorf("seed %d: %d valid objects: %s: %v", seed, len(s.Valid), s.Closest, s.Unsatisfied)
		}
		for _, x := range s.Valid {
			with += bytes.Count(x.Object, []byte(`"status":{`))
		}
	}
	if with < 8 {
		t.Errorf("only %d of 20 objects have a status", with)
	}
}

// ruleDefinition returns a CRD whose spec and its properties are required, with rules of spec.
func ruleDefinition(t *testing.T, properties string, rules ...string) *engine.Definition {
	t.Helper()
	var p map[string]any
	if err := yaml.Unmarshal([]byte(properties), &p); err != nil {
		t.Fatal(properties, err)
	}
	var list []map[string]string
	for _, rule := range rules {
		list = append(list, map[string]string{"rule": rule})
	}
	spec, err := json.Marshal(map[string]any{"type": "object", "properties": p, "required": slices.Sorted(maps.Keys(p)),
		"x-kubernetes-validations": list})
	if err != nil {
		t.Fatal(err)
	}
	manifest := fixture.Thing(t, "{type: object}").Manifest()
	manifest = bytes.Replace(manifest, []byte(`{"spec":{"type":"object"}}`),
		fmt.Appendf(nil, `{"spec":%s},"required":["spec"]`, spec), 1)
	d, report, err := engine.Compile(t.Context(), engine.JSON(manifest), engine.Options{})
	if err != nil || d == nil {
		t.Fatalf("%s: %v: %.300v", rules, err, report.Violations)
	}
	return d
}
