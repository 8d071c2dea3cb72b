/** crd is a CRD with bounds, an enum, defaults, rules, a column and a subresource. */
export const crd = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: widgets.example.com
spec:
  group: example.com
  scope: Namespaced
  names: {plural: widgets, singular: widget, kind: Widget, listKind: WidgetList}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    additionalPrinterColumns:
    - {name: Colour, type: string, jsonPath: .spec.colour}
    - {name: Size, type: integer, jsonPath: .spec.size, priority: 1}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            required: [size]
            x-kubernetes-validations:
            - rule: self.size <= 5 || self.colour != 'red'
              message: red widgets have at most size 5
            - rule: self.colour == oldSelf.colour
              message: the colour is immutable
            properties:
              size:
                type: integer
                maximum: 10
                description: The size of the widget in metres.
              colour:
                type: string
                enum: [red, green, blue]
                default: green
                description: The colour of the widget.
              tags:
                type: array
                maxItems: 5
                items: {type: string, maxLength: 20}
          status:
            type: object
            properties:
              phase: {type: string}
`

/** widget returns an object with the fields of its spec, one a line. */
export function widget(...spec: string[]): string {
  const lines = spec.map((line) => `  ${line}\n`).join("")
  return `apiVersion: example.com/v1
kind: Widget
metadata:
  name: first
  namespace: default
spec:
${lines}`
}

/** quantityCRD is a CRD with a function that Kubernetes has since 1.28. */
export const quantityCRD = crd.replace("rule: self.colour == oldSelf.colour", "rule: isQuantity(self.colour) || true")

/** costlyCRD is a CRD with a rule that costs too much because a list has no bound. */
export const costlyCRD = crd.replace("                maxItems: 5\n", "").replace(
  "                items: {type: string, maxLength: 20}\n",
  `                items: {type: string, maxLength: 20}
                x-kubernetes-validations:
                - rule: self.all(a, self.exists_one(b, a == b))
`,
)
