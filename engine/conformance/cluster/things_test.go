//go:build cluster

package cluster

// thingCRD has two versions that differ in each way that rules can describe.
const thingCRD = `
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
    storage: false
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              endpoint: {type: object, properties: {host: {type: string}, port: {type: integer}}}
              mode: {type: string}
              note: {type: string}
              priority: {type: string}
              labels: {type: object, additionalProperties: {type: string}}
              ports:
                type: array
                maxItems: 10
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [name]
                items:
                  type: object
                  required: [name]
                  properties: {name: {type: string}, port: {type: integer}, protocol: {type: string}}
              tags: {type: array, x-kubernetes-list-type: set, items: {type: string}}
              args: {type: array, items: {type: string}}
          status: {type: object, properties: {ready: {type: boolean}, phase: {type: string}}}
  - name: v1beta1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              host: {type: string}
              port: {type: integer}
              speed: {type: string}
              rank: {type: string}
              labels: {type: object, additionalProperties: {type: string}}
              portsByName:
                type: object
                maxProperties: 10
                additionalProperties: {type: object, properties: {number: {type: integer}, protocol: {type: string}}}
              tags: {type: array, x-kubernetes-list-type: set, items: {type: string}}
              args: {type: array, items: {type: string}}
          status: {type: object, properties: {ready: {type: boolean}, state: {type: string}}}
`

// thingRules store the default of priority at v1beta1, so an object may have it after a conversion back.
const thingRules = `
crd: things.example.com
between: [v1beta1, v1]
except: [round-trip]
rules:
- move: {from: spec.host, to: spec.endpoint.host}
- move: {from: spec.port, to: spec.endpoint.port}
- values: {path: spec.speed, to: spec.mode, map: {f: fast, s: slow}}
- list: {path: spec.ports, key: name, map: spec.portsByName}
- move: {from: "spec.portsByName[*].number", to: "spec.ports[*].port"}
- move: {from: status.state, to: status.phase}
- stash: {path: spec.note, maxBytes: 100}
- cel: {to: spec.priority, expr: "has(self.spec.rank) ? self.spec.rank : 'default'"}
  back: {spec.rank: self.spec.priority}
`
