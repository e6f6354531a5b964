"""A small ontology of a museum, which uses most axioms that a schema is read from."""

MUSEUM = """
@prefix ex: <https://museum.example/ontology#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix sarag: <https://w3id.org/sarag/ontology#> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .

<https://museum.example/ontology> a owl:Ontology ;
    rdfs:label "Museum ontology"@en ; owl:versionInfo "1.2" .
ex:Agent a owl:Class ; rdfs:label "agent"@en .
ex:Person a owl:Class ; rdfs:subClassOf ex:Agent ;
    rdfs:label "person"@en , "Mensch"@de ; skos:altLabel "human"@en .
ex:Group a owl:Class ; rdfs:subClassOf ex:Agent ; rdfs:label "group"@en .
ex:Mineral a owl:Class ; rdfs:label "mineral"@en ;
    skos:definition "A solid with a crystal structure."@en ; skos:example "quartz"@en ;
    rdfs:subClassOf [ a owl:Restriction ; owl:onProperty ex:hardness ; owl:cardinality 1 ] .
ex:collected a owl:ObjectProperty ; rdfs:label "collected"@en ;
    rdfs:domain [ a owl:Class ; owl:unionOf ( ex:Person ex:Group ) ] ; rdfs:range ex:Mineral ;
    sarag:statedAs "collected" , "brought home" ; sarag:inverselyStatedAs "was collected by" .
ex:collector a owl:ObjectProperty ; rdfs:label "collector"@en ; owl:inverseOf ex:collected .
ex:firstCollected a owl:ObjectProperty ; rdfs:label "collected first"@en ;
    rdfs:subPropertyOf ex:collected .
ex:married a owl:ObjectProperty , owl:SymmetricProperty ; rdfs:label "married"@en ;
    rdfs:domain ex:Person ; rdfs:range ex:Person .
ex:hardness a owl:DatatypeProperty , owl:FunctionalProperty ; rdfs:label "hardness"@en ;
    rdfs:domain ex:Mineral ; rdfs:range xsd:decimal .
ex:dateOfBirth a owl:DatatypeProperty ; rdfs:domain ex:Person ; rdfs:range xsd:date .
ex:note a owl:AnnotationProperty ; rdfs:label "note"@en .
ex:formerName a owl:DatatypeProperty ; owl:deprecated true .
"""
EX = "https://museum.example/ontology#"
