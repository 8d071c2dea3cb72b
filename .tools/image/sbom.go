package main

import (
	"bytes"
	"runtime/debug"
	"strings"

	cyclonedx "github.com/CycloneDX/cyclonedx-go"
)

// billOfMaterials returns the SBOM of a Go binary: its modules, and the standard library.
func billOfMaterials(info *debug.BuildInfo, version string) ([]byte, error) {
	program := component(&info.Main)
	program.Type, program.Version = cyclonedx.ComponentTypeApplication, version
	program.PackageURL, program.BOMRef = packageURL(info.Main.Path, version), packageURL(info.Main.Path, version)
	goVersion := strings.TrimPrefix(info.GoVersion, "go")
	components := []cyclonedx.Component{component(&debug.Module{Path: "std", Version: goVersion})}
	for _, module := range info.Deps {
		switch r := module.Replace; {
		case r != nil && strings.HasPrefix(r.Path, "."): // a directory of this repository
			module = &debug.Module{Path: module.Path, Version: version}
		case r != nil:
			module = r
		}
		components = append(components, component(module))
	}
	var direct []string
	for _, c := range components {
		direct = append(direct, c.BOMRef)
	}
	bom := cyclonedx.NewBOM() // without a serial number and a time: the same binary has the same SBOM
	bom.Metadata = &cyclonedx.Metadata{Component: &program}
	bom.Components = &components
	bom.Dependencies = &[]cyclonedx.Dependency{{Ref: program.BOMRef, Dependencies: &direct}}
	var out bytes.Buffer
	err := cyclonedx.NewBOMEncoder(&out, cyclonedx.BOMFileFormatJSON).SetPretty(true).Encode(bom)
	return out.Bytes(), err
}

func component(m *debug.Module) cyclonedx.Component {
	url := packageURL(m.Path, m.Version)
	c := cyclonedx.Component{
		Type: cyclonedx.ComponentTypeLibrary, BOMRef: url, Name: m.Path, Version: m.Version, PackageURL: url,
	}
	if m.Sum != "" {
		c.Properties = &[]cyclonedx.Property{{Name: "crdeval:go.sum", Value: m.Sum}}
	}
	return c
}

func packageURL(path, version string) string { return "pkg:golang/" + path + "@" + version }
