import java.io.File;
import java.util.ArrayList;
import java.util.List;
import org.semanticweb.owlapi.apibinding.OWLManager;
import org.semanticweb.owlapi.model.OWLOntology;
import org.semanticweb.owlapi.profiles.OWL2DLProfile;
import org.semanticweb.owlapi.profiles.OWL2RLProfile;
import org.semanticweb.owlapi.profiles.OWLProfile;
import org.semanticweb.owlapi.profiles.OWLProfileReport;
import org.semanticweb.owlapi.profiles.OWLProfileViolation;

/**
 * Says whether an ontology stays inside OWL 2 DL and OWL 2 RL, and what breaks the profile.
 *
 * <p>Needs no compilation step: {@code java -cp 'jars/*' ProfileCheck.java FILE}.
 */
public class ProfileCheck {
    public static void main(String[] args) throws Exception {
        if (args.length != 1) {
            System.err.println("usage: ProfileCheck.java FILE");
            System.exit(2);
        }
        OWLOntology ontology =
                OWLManager.createOWLOntologyManager()
                        .loadOntologyFromOntologyDocument(new File(args[0]));
        System.out.println("axioms " + ontology.getAxiomCount());
        report("OWL2DL", new OWL2DLProfile(), ontology);
        report("OWL2RL", new OWL2RLProfile(), ontology);
    }

    private static void report(String name, OWLProfile profile, OWLOntology ontology) {
        OWLProfileReport outcome = profile.checkOntology(ontology);
        System.out.println(name + " " + outcome.isInProfile());
        List<String> lines = new ArrayList<>();
        for (OWLProfileViolation violation : outcome.getViolations()) {
            lines.add("  " + violation.getClass().getSimpleName() + ": " + violation);
        }
        lines.stream().sorted().forEach(System.out::println);
    }
}
